import { useTranslation } from 'react-i18next';

/** Returns the name of a change that needs approval. */
export function useActionName(): (action: string) => string {
  const { t, i18n } = useTranslation('approvals');
  return (action) => {
    const key = `action.${action}`;
    return i18n.exists(`approvals:${key}`) ? t(key as 'action.other') : t('action.other');
  };
}
