import { useEffect } from 'react';
import { setLanguage } from '../text/index.ts';
import { useSession } from './session.tsx';

/** The console speaks the language of who is signed in. */
export function UserLanguage() {
  const { language } = useSession().person;
  useEffect(() => void setLanguage(language), [language]);
  return null;
}
