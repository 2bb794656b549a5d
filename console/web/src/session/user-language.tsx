import { useEffect } from 'react';
import { setLanguage } from '../text/index.ts';
import { useSession } from './session.tsx';

/** Sets the language of the signed-in user. */
export function UserLanguage() {
  const { language } = useSession().person;
  useEffect(() => void setLanguage(language), [language]);
  return null;
}
