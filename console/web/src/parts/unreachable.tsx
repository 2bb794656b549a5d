import { Button, Center } from '@mantine/core';
import { CloudOff } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import type { CallError } from '../api/call.ts';
import { EmptyState } from './empty-state.tsx';
import { useErrorText } from './error-alert.tsx';

/** Shown instead of all pages when not even the session can be read. */
export function Unreachable({ error, onRetry }: { readonly error: CallError; readonly onRetry: () => void }) {
  const { t } = useTranslation();
  const textOf = useErrorText();
  return (
    <Center component="main" mih="100dvh" p="md">
      <EmptyState
        icon={CloudOff}
        title={t('unreachable')}
        order={1}
        action={<Button onClick={onRetry}>{t('reload')}</Button>}
      >
        {textOf(error)}
      </EmptyState>
    </Center>
  );
}
