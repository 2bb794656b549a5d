import { useTranslation } from 'react-i18next';

/** What an action of the log is called; one that we do not know keeps its own name. */
export function useActionText(): (action: string) => string {
  const { t, i18n } = useTranslation('audit');
  return (action) => {
    const key = `actions.${action}`;
    return i18n.exists(`audit:${key}`) ? t(key as 'actions.key.created') : action;
  };
}
