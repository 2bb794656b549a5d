import { Alert, Button, Group, Text } from '@mantine/core';
import { CircleAlert } from 'lucide-react';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { type CallError, isTransient } from '../api/call.ts';
import { useReasonText } from './reason-text.ts';

interface ErrorAlertProps {
  readonly error: CallError;
  /** Offered only when a retry may succeed. */
  readonly onRetry?: () => void;
  /** Moves the focus to the alert, so that the user notices it. */
  readonly isFocused?: boolean;
}

/** Returns the text of an error in the user's language. */
export function useErrorText(): (error: Pick<CallError, 'code' | 'message' | 'explanation'>) => string {
  const { t, i18n } = useTranslation('errors');
  const reasonText = useReasonText();
  return ({ code, message, explanation }) => {
    if (explanation !== undefined) return reasonText(explanation);
    if (i18n.exists(`errors:${code}`)) return t(code as 'internal');
    return message === '' ? t('internal') : message;
  };
}

/** Shows an error and announces it. Renders nothing when the user canceled. */
export function ErrorAlert({ error, onRetry, isFocused = false }: ErrorAlertProps) {
  const { t } = useTranslation('parts');
  const textOf = useErrorText();
  const alert = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isFocused && error.code !== 'cancelled') alert.current?.focus();
  }, [error, isFocused]);
  if (error.code === 'cancelled') return null;
  return (
    <Alert ref={alert} tabIndex={-1} color="red" role="alert" icon={<CircleAlert size={18} aria-hidden />}>
      <Group justify="space-between" gap="sm">
        <Text size="sm" flex="1 1 12rem">
          {textOf(error)}
        </Text>
        {onRetry !== undefined && isTransient(error) && (
          <Button variant="default" size="xs" onClick={onRetry}>
            {t('retry')}
          </Button>
        )}
      </Group>
    </Alert>
  );
}
