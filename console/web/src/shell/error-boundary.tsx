import { Button, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { CloudAlert, CloudOff } from 'lucide-react';
import { Component, type ReactNode, useCallback, useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { CallError } from '../api/call.ts';
import { isServiceAvailable, useRetryWhileOffline } from '../api/use-retry.ts';
import { EmptyState } from '../parts/empty-state.tsx';

interface BoundaryState {
  readonly error?: unknown;
}

/**
 * Catches errors of a page, and pages that cannot be loaded because the service is unavailable or has a newer console.
 */
export class ErrorBoundary extends Component<{ readonly children: ReactNode }, BoundaryState> {
  override state: BoundaryState = {};

  static getDerivedStateFromError(error: unknown): BoundaryState {
    return { error: error ?? 'nothing' };
  }

  override render() {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    return error instanceof CallError && error.code === 'offline' ? <NotLoaded /> : <Crashed />;
  }
}

function Crashed() {
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

/**
 * Browsers cache a failed import, so the whole page is reloaded when the service responds. It reloads automatically
 * only after the service was unavailable; otherwise it would reload forever.
 */
function NotLoaded() {
  const { t } = useTranslation();
  const wasDown = useRef(false);
  const retryLoad = useCallback(async () => {
    if (!(await isServiceAvailable())) wasDown.current = true;
    else if (wasDown.current) window.location.reload();
  }, []);
  useEffect(() => void retryLoad(), [retryLoad]);
  useRetryWhileOffline(true, retryLoad);
  const retry = useMutation<boolean>({
    mutationFn: isServiceAvailable,
    onSuccess: (isAvailable) => isAvailable && window.location.reload(),
  });
  return (
    <div role="alert">
      <EmptyState
        icon={CloudOff}
        title={t('unreachable')}
        order={1}
        action={
          <Button onClick={() => retry.mutate()} loading={retry.isPending}>
            {t('retry')}
          </Button>
        }
      >
        {t('notLoaded')}
        {retry.data === false && (
          <Text inherit mt={4}>
            {t('stillNot')}
          </Text>
        )}
      </EmptyState>
    </div>
  );
}
