import { Alert, Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { MailWarning } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { LIMITS } from '../../../../../src/kernel/limits.ts';
import { confirmEmail, sendEmailCode } from '../../../../wire/profile.ts';
import { useChange } from '../../api/hooks.ts';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { useFieldErrors } from '../../parts/field-errors.ts';
import { notifySuccess } from '../../parts/notifications.tsx';
import { useSession } from '../../session/session.tsx';

/** Confirms an address to which the user has changed, with a code that is sent there. */
export function EmailConfirmation() {
  const { t } = useTranslation('alerts');
  const { person } = useSession();
  const form = useForm({ initialValues: { code: '' } });
  const fieldErrors = useFieldErrors(form);
  const send = useChange(sendEmailCode);
  const confirm = useChange(confirmEmail);
  const submit = form.onSubmit(({ code }) =>
    confirm.mutate(
      { body: { code: code.trim() } },
      { onSuccess: () => notifySuccess(t('mails.confirm.done')), onError: fieldErrors.onError },
    ),
  );
  const error = send.error ?? fieldErrors.rest;
  return (
    <Alert color="yellow" icon={<MailWarning size={18} aria-hidden />} title={t('mails.confirm.title')}>
      <form onSubmit={submit} noValidate>
        <Stack gap="sm" align="flex-start">
          <Text size="sm">{t('mails.confirm.text', { email: person.email })}</Text>
          {error !== null && <ErrorAlert error={error} />}
          <Button
            variant="default"
            size="sm"
            loading={send.isPending}
            onClick={() => send.mutate({}, { onSuccess: () => notifySuccess(t('mails.confirm.sent')) })}
          >
            {t('mails.confirm.send')}
          </Button>
          <Group gap="xs" align="flex-start">
            <TextInput
              label={t('mails.confirm.code')}
              autoComplete="one-time-code"
              maxLength={LIMITS.signInCodeCharacters}
              {...form.getInputProps('code')}
            />
            <Button type="submit" size="sm" mt="xl" loading={confirm.isPending}>
              {t('mails.confirm.submit')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Alert>
  );
}
