import { Alert, Button, Group, Text } from '@mantine/core';
import { CircleAlert } from 'lucide-react';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { type CallError, isTransient } from '../api/call.ts';
import { useServiceText } from './service-text.ts';

interface ErrorAlertProps {
  readonly error: CallError;
  /** Offered only where it can help. */
  readonly onRetry?: () => void;
  /** Takes the focus, so that who typed does not miss it. */
  readonly isFocused?: boolean;
}

/** Their code alone does not help, so what the service says stands behind it when there are no better words. */
const MESSAGE_HELPS: readonly string[] = ['invalid_field', 'not_possible'];

/** What went wrong, in the person's words. */
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

/** Announced at once. Nothing for what the person has cancelled. */
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
