import { Text, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Environment } from '../../../../src/kernel/environment.ts';
import type { CallError } from '../api/call.ts';
import { DialogForm, FormDialog } from './form-dialog.tsx';

export interface ConfirmDialogProps {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly title: string;
  /** Effect of the change. */
  readonly children: ReactNode;
  /** Verb and noun, such as "Revoke key". */
  readonly confirmLabel: string;
  /** Text of the button that closes the dialog without the change; absent: "Cancel". */
  readonly cancelLabel?: string;
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

interface ConfirmButtonProps extends Omit<ConfirmDialogProps, 'opened' | 'onClose' | 'onConfirm' | 'isBusy' | 'error'> {
  /** Renders the button that opens the dialog. */
  readonly button: (open: () => void) => ReactNode;
  readonly change: { readonly isPending: boolean; readonly error: CallError | null; readonly reset: () => void };
  /** Sends the change, and closes the dialog when it was made. */
  readonly onConfirm: (close: () => void) => void;
}

/** Button of a change that is sent after a confirmation. */
export function ConfirmButton({ button, change, onConfirm, ...props }: ConfirmButtonProps) {
  const [isOpen, setOpen] = useState(false);
  const close = (): void => {
    change.reset();
    setOpen(false);
  };
  return (
    <>
      {button(() => setOpen(true))}
      <ConfirmDialog
        {...props}
        opened={isOpen}
        onClose={close}
        onConfirm={() => onConfirm(close)}
        isBusy={change.isPending}
        error={change.error}
      />
    </>
  );
}

export function ConfirmDialog(props: ConfirmDialogProps) {
  const { t } = useTranslation('parts');
  const { opened, onClose, title, environment, isBusy = false } = props;
  return (
    <FormDialog
      opened={opened}
      onClose={isBusy ? () => undefined : onClose}
      title={title}
      production={t('productionWarning')}
      {...(environment !== undefined && { environment })}
    >
      <Question {...props} />
    </FormDialog>
  );
}

function Question(props: ConfirmDialogProps) {
  const { children, confirmText, confirmLabel, cancelLabel, onConfirm, onClose } = props;
  const { isReady = true, isBusy = false, error = null, isDangerous = false } = props;
  const { t } = useTranslation('parts');
  const [text, setText] = useState('');
  return (
    <DialogForm
      onSubmit={onConfirm}
      onCancel={onClose}
      label={confirmLabel}
      isReady={isReady && (confirmText === undefined || text.trim() === confirmText)}
      {...(cancelLabel !== undefined && { cancelLabel })}
      {...{ isBusy, error, isDangerous }}
    >
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
    </DialogForm>
  );
}
