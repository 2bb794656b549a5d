import { Button } from '@mantine/core';
import { CloudAlert } from 'lucide-react';
import { Component, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { EmptyState } from '../parts/empty-state.tsx';

/** A page that breaks, or that cannot be loaded because a newer console is there. */
export class Boundary extends Component<{ readonly children: ReactNode }, { readonly isBroken: boolean }> {
  override state = { isBroken: false };

  static getDerivedStateFromError() {
    return { isBroken: true };
  }

  override render() {
    return this.state.isBroken ? <Broken /> : this.props.children;
  }
}

function Broken() {
  const { t } = useTranslation();
  return (
    <div role="alert">
      <EmptyState
        icon={CloudAlert}
        title={t('crashTitle')}
        order={1}
        action={<Button onClick={() => window.location.reload()}>{t('reload')}</Button>}
      >
        {t('crashHint')}
      </EmptyState>
    </div>
  );
}
