import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Environment } from '../../../../src/kernel/environment.ts';
import type { CallError } from '../api/call.ts';
import { EnvironmentBadge } from './environment-badge.tsx';
import { ErrorAlert } from './error-alert.tsx';

interface ConfirmDialogProps {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly title: string;
  /** Effect of the change. */
  readonly children: ReactNode;
  /** Verb and noun, such as "Revoke key". */
  readonly confirmLabel: string;
  readonly onConfirm: () => void;
  /** False while the effect is still loading. */
  readonly isReady?: boolean;
  readonly isBusy?: boolean;
  readonly error?: CallError | null;
  /** The change cannot be undone. */
  readonly isDangerous?: boolean;
  /** Environment of the change; production is highlighted. */
  readonly environment?: Environment;
  /** Text that the user has to type first. */
  readonly confirmText?: string;
}

export function ConfirmDialog(props: ConfirmDialogProps) {
  const { t } = useTranslation('parts');
  const { opened, onClose, title, isBusy = false } = props;
  return (
    <Modal
      opened={opened}
      onClose={isBusy ? () => undefined : onClose}
      title={title}
      closeButtonProps={{ 'aria-label': t('close') }}
    >
      <Question {...props} />
    </Modal>
  );
}

function Question({
  opened,
  children,
  environment,
  confirmText,
  error,
  onConfirm,
  onClose,
  ...props
}: ConfirmDialogProps) {
  const { t } = useTranslation('parts');
  const [text, setText] = useState('');
  const isConfirmed = confirmText === undefined || text.trim() === confirmText;
  const isReady = isConfirmed && (props.isReady ?? true);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        // The dialog stays visible while it closes; a second click must not repeat the change.
        if (isReady && opened) onConfirm();
      }}
    >
      <Stack gap="md">
        {environment !== undefined && (
          <Group gap="xs">
            <EnvironmentBadge environment={environment} />
            {environment === 'production' && <Text size="sm">{t('productionWarning')}</Text>}
          </Group>
        )}
        <Text component="div" size="sm">
          {children}
        </Text>
        {confirmText !== undefined && (
          <TextInput
            label={t('typeToConfirm', { typed: confirmText })}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            autoComplete="off"
            spellCheck={false}
            data-autofocus
          />
        )}
        {error && <ErrorAlert error={error} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose} disabled={props.isBusy ?? false}>
            {t('cancel')}
          </Button>
          <Button
            type="submit"
            loading={props.isBusy ?? false}
            disabled={!isReady}
            {...(props.isDangerous && { color: 'red' })}
          >
            {props.confirmLabel}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
