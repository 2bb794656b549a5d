import { Button } from '@mantine/core';
import { Lock } from 'lucide-react';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { EmptyState } from '../parts/empty-state.tsx';

/** Shown instead of a page that the user's role does not include. */
export function Forbidden() {
  const { t } = useTranslation();
  useEffect(() => {
    document.title = `${t('notYours')} · cardvault`;
  }, [t]);
  return (
    <EmptyState
      icon={Lock}
      title={t('notYours')}
      order={1}
      action={
        <Button component={Link} to="/" variant="default">
          {t('toStart')}
        </Button>
      }
    >
      {t('notYoursHint')}
    </EmptyState>
  );
}
