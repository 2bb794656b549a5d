import { Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { LIMITS } from '../../../../../src/kernel/limits.ts';
import { EMAIL_PATTERN } from '../../parts/email-pattern.ts';
import { useFieldErrors } from '../../parts/field-errors.ts';
import { DialogForm } from '../../parts/form-dialog.tsx';
import type { PersonalLink } from './link-dialog.tsx';
import { type AccountRole, RoleChoice } from './role-choice.tsx';
import type { LinkChange } from './team-calls.ts';

interface InviteFormProps {
  readonly invite: LinkChange<{ email: string; role: AccountRole }>;
  /** Undefined for operators, who have one role. */
  readonly firstRole: AccountRole | undefined;
  readonly onLink: (link: PersonalLink) => void;
  readonly onCancel: () => void;
}

export function InviteForm({ invite, firstRole, onLink, onCancel }: InviteFormProps) {
  const { t } = useTranslation('team');
  const form = useForm<{ email: string; role: AccountRole }>({
    initialValues: { email: '', role: firstRole ?? 'developer' },
    validate: { email: (text) => (EMAIL_PATTERN.test(text.trim()) ? null : t('invite.emailForm')) },
    transformValues: ({ email, role }) => ({ email: email.trim(), role }),
  });
  const fieldErrors = useFieldErrors(form);
  const send = form.onSubmit((body) =>
    invite.send(body, {
      onError: fieldErrors.onError,
      onApprovalPending: onCancel,
      onLink: (link) => onLink({ ...link, text: t('link.inviteText', { email: body.email }) }),
    }),
  );
  return (
    <DialogForm
      onSubmit={send}
      onCancel={onCancel}
      label={t('invite.send')}
      isBusy={invite.isBusy}
      error={fieldErrors.rest}
    >
      <Text size="sm">{t('invite.text')}</Text>
      <TextInput
        label={t('invite.email')}
        type="email"
        inputMode="email"
        autoComplete="off"
        maxLength={LIMITS.emailCharacters}
        required
        data-autofocus
        {...form.getInputProps('email')}
      />
      {firstRole !== undefined && (
        <RoleChoice value={form.values.role} onChange={(role) => form.setFieldValue('role', role)} />
      )}
    </DialogForm>
  );
}
