import { Button } from '@mantine/core';
import { Compass } from 'lucide-react';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { EmptyState } from '../../parts/empty-state.tsx';

export function NotFoundPage() {
  const { t } = useTranslation('notFound');
  useEffect(() => {
    document.title = `${t('title')} · cardvault`;
  }, [t]);
  return (
    <EmptyState
      icon={Compass}
      title={t('title')}
      order={1}
      action={
        <Button component={Link} to="/" variant="default">
          {t('back')}
        </Button>
      }
    >
      {t('hint')}
    </EmptyState>
  );
}
