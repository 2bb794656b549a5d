import { Button, Group, Stack, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { flushSync } from 'react-dom';
import { useTranslation } from 'react-i18next';
import type { Environment } from '../../../../src/kernel/environment.ts';
import type { CallError } from '../api/call.ts';
import { Modal } from './dialogs.tsx';
import { EnvironmentBadge } from './environment-badge.tsx';
import { ErrorAlert } from './error-alert.tsx';
import { useFocusFirstError } from './focus-first-error.ts';

/** State of a dialog with its subject, which stays while the dialog closes. */
export function useDialog<Subject>() {
  const [state, setState] = useState<{ readonly opened: boolean; readonly subject: Subject | undefined }>({
    opened: false,
    subject: undefined,
  });
  return {
    ...state,
    open: (subject: Subject) => {
      // The subject is set before the dialog opens, so that the dialog can remember and return the focus.
      flushSync(() => setState({ opened: false, subject }));
      setState({ opened: true, subject });
    },
    close: () => setState(({ subject }) => ({ opened: false, subject })),
  };
}

interface FormDialogProps {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly title: string;
  /** Environment of the change, and the warning for production. */
  readonly environment?: Environment;
  readonly production?: string;
  readonly size?: 'md' | 'lg';
  /** Form component with its own state, which starts empty each time the dialog opens. */
  readonly children: ReactNode;
}

export function FormDialog({
  opened,
  onClose,
  title,
  environment,
  production,
  size = 'md',
  children,
}: FormDialogProps) {
  const { t } = useTranslation('parts');
  return (
    <Modal opened={opened} onClose={onClose} title={title} size={size} closeButtonProps={{ 'aria-label': t('close') }}>
      {/* The dialog stays visible while it closes; a second click must not repeat the change. */}
      <Stack gap="md" inert={!opened}>
        {environment !== undefined && (
          <Group gap="xs">
            <EnvironmentBadge environment={environment} />
            {environment === 'production' && production !== undefined && <Text size="sm">{production}</Text>}
          </Group>
        )}
        {children}
      </Stack>
    </Modal>
  );
}

interface FormProps {
  readonly onSubmit: () => void;
  readonly onCancel: () => void;
  /** Text of the button. */
  readonly label: string;
  /** Text of the other button; absent: "Cancel". */
  readonly cancelLabel?: string;
  readonly isBusy: boolean;
  /** False while the form cannot be sent. */
  readonly isReady?: boolean;
  readonly error: CallError | null;
  readonly isDangerous?: boolean;
  readonly children?: ReactNode;
}

/** Form of a dialog with its fields, error and two buttons. */
export function DialogForm({ onSubmit, error, children, ...buttons }: FormProps) {
  const { isBusy, isReady = true } = buttons;
  const { form, onSubmitted } = useFocusFirstError(isBusy);
  return (
    <form
      ref={form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (isBusy || !isReady) return;
        onSubmit();
        onSubmitted();
      }}
    >
      <Stack gap="md">
        {children}
        {error !== null && <ErrorAlert error={error} />}
        <FormButtons {...buttons} />
      </Stack>
    </form>
  );
}

type FormButtonsProps = Pick<FormProps, 'onCancel' | 'label' | 'cancelLabel' | 'isBusy' | 'isReady' | 'isDangerous'> & {
  /** The change can be canceled while it is in progress. */
  readonly canCancelBusy?: boolean;
};

/** The two buttons at the end of a form. */
export function FormButtons(props: FormButtonsProps) {
  const { t } = useTranslation('parts');
  const { onCancel, cancelLabel, canCancelBusy = false, label, isBusy, isReady = true, isDangerous } = props;
  return (
    <Group justify="flex-end" gap="xs">
      <Button variant="default" onClick={onCancel} disabled={isBusy && !canCancelBusy}>
        {cancelLabel ?? t('cancel')}
      </Button>
      <Button type="submit" loading={isBusy} disabled={!isReady} {...(isDangerous && { color: 'red' })}>
        {label}
      </Button>
    </Group>
  );
}
