import { Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { LIMITS } from '../../../../../src/kernel/limits.ts';
import { changeEmail } from '../../../../wire/profile.ts';
import { useChange } from '../../api/hooks.ts';
import { useFieldErrors } from '../../parts/field-errors.ts';
import { DialogForm, FormDialog } from '../../parts/form-dialog.tsx';
import { notifySuccess } from '../../parts/notifications.tsx';
import { useSessionControls } from '../../session/session.tsx';

interface DialogProps {
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function ChangeEmailDialog({ opened, onClose }: DialogProps) {
  const { t } = useTranslation('profile');
  return (
    <FormDialog opened={opened} onClose={onClose} title={t('changeEmailTitle')}>
      <EmailForm onClose={onClose} />
    </FormDialog>
  );
}

function EmailForm({ onClose }: Pick<DialogProps, 'onClose'>) {
  const { t } = useTranslation('profile');
  const { setSession } = useSessionControls();
  const form = useForm({ initialValues: { email: '' } });
  const fieldErrors = useFieldErrors(form);
  const change = useChange(changeEmail);
  const save = form.onSubmit(({ email }) =>
    change.mutate(
      { body: { email: email.trim() } },
      {
        onSuccess: (session) => {
          setSession(session);
          notifySuccess(t('emailChanged'));
          onClose();
        },
        onError: fieldErrors.onError,
      },
    ),
  );
  return (
    <DialogForm
      onSubmit={save}
      onCancel={onClose}
      label={t('changeEmail')}
      isBusy={change.isPending}
      error={fieldErrors.rest}
    >
      <Text size="sm">{t('changeEmailHint')}</Text>
      <TextInput
        label={t('newEmail')}
        type="email"
        autoComplete="email"
        maxLength={LIMITS.emailCharacters}
        data-autofocus
        {...form.getInputProps('email')}
      />
    </DialogForm>
  );
}
