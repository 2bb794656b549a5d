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

/** A page that breaks, or that cannot be loaded because the service does not answer or has a newer console. */
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
 * Browsers remember that a file was not to be had, so the page is loaded anew: once there is a service to load it from. By
 * itself only when there was none before; else it would load again and again what is not there.
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
