import { TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { LIMITS } from '../../../../../src/kernel/limits.ts';
import { createAccount } from '../../../../wire/operator.ts';
import { useChange } from '../../api/hooks.ts';
import { EMAIL_PATTERN } from '../../parts/email-pattern.ts';
import { useFieldErrors } from '../../parts/field-errors.ts';
import { DialogForm } from '../../parts/form-dialog.tsx';
import { notifySuccess } from '../../parts/notifications.tsx';
import type { PersonalLink } from '../team/link-dialog.tsx';

interface CreateFormProps {
  readonly onDone: () => void;
  readonly onLink: (link: PersonalLink) => void;
}

/** Returns the form, and how to send it. */
function useCreate({ onDone, onLink }: CreateFormProps) {
  const { t } = useTranslation('operator');
  const change = useChange(createAccount);
  const form = useForm({
    initialValues: { name: '', email: '' },
    validate: {
      name: (text) => (text.trim() === '' ? t('accounts.nameNeeded') : null),
      email: (text) => (text.trim() === '' || EMAIL_PATTERN.test(text.trim()) ? null : t('accounts.emailForm')),
    },
  });
  const fieldErrors = useFieldErrors(form, { owner_email: 'email' });
  const send = (values: { name: string; email: string }): void => {
    const [name, email] = [values.name.trim(), values.email.trim()];
    change.mutate(
      { body: { name, ...(email !== '' && { owner_email: email }) } },
      {
        onError: fieldErrors.onError,
        onSuccess: ({ invitation }) => {
          onDone();
          notifySuccess(t('accounts.created'));
          if (invitation !== null) onLink({ ...invitation, text: t('accounts.linkText', { email }) });
        },
      },
    );
  };
  return { form, submit: form.onSubmit(send), isBusy: change.isPending, error: fieldErrors.rest };
}

export function CreateForm(props: CreateFormProps) {
  const { t } = useTranslation('operator');
  const { form, submit, isBusy, error } = useCreate(props);
  return (
    <DialogForm onSubmit={submit} onCancel={props.onDone} label={t('accounts.save')} isBusy={isBusy} error={error}>
      <TextInput
        label={t('accounts.name')}
        description={t('accounts.nameHint')}
        maxLength={LIMITS.accountNameCharacters}
        autoComplete="off"
        required
        data-autofocus
        {...form.getInputProps('name')}
      />
      <TextInput
        label={t('accounts.email')}
        description={t('accounts.emailHint')}
        type="email"
        maxLength={LIMITS.emailCharacters}
        autoComplete="off"
        {...form.getInputProps('email')}
      />
    </DialogForm>
  );
}
