import { Alert, Button, Group, Text } from '@mantine/core';
import { CircleAlert } from 'lucide-react';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { type CallError, isTransient } from '../api/call.ts';
import { useServiceText } from './service-text.ts';

interface ErrorAlertProps {
  readonly error: CallError;
  /** Offered only when a retry may succeed. */
  readonly onRetry?: () => void;
  /** Moves the focus to the alert, so that the user notices it. */
  readonly isFocused?: boolean;
}

/** Codes that are followed by the text of the service when they have no better text. */
const MESSAGE_HELPS: readonly string[] = ['invalid_field', 'not_possible'];

/** Returns the text of an error in the user's language. */
export function useErrorText(): (error: CallError) => string {
  const { t, i18n } = useTranslation('errors');
  const { refusal } = useServiceText();
  return ({ code, message }) => {
    const known = refusal(message);
    if (known !== undefined) return known;
    if (!i18n.exists(`errors:${code}`)) return message === '' ? t('internal') : message;
    const text = t(code as 'internal');
    return MESSAGE_HELPS.includes(code) && message !== '' ? `${text} (${message})` : text;
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
