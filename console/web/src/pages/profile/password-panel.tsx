import { Button, Group, Stack } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { changePassword } from '../../../../wire/profile.ts';
import { useChange } from '../../api/hooks.ts';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { useFieldErrors } from '../../parts/field-errors.ts';
import { NewPassword } from '../../parts/new-password.tsx';
import { notifySuccess } from '../../parts/notifications.tsx';
import { Panel } from '../../parts/panel.tsx';
import { PasswordField } from '../../parts/password-field.tsx';
import { useSession } from '../../session/session.tsx';

export function PasswordPanel() {
  const { t } = useTranslation('profile');
  const [isOpen, setOpen] = useState(false);
  return (
    <Panel
      title={t('password')}
      description={t('passwordHint')}
      actions={
        !isOpen && (
          <Button variant="default" onClick={() => setOpen(true)}>
            {t('change')}
          </Button>
        )
      }
    >
      {isOpen && <PasswordForm onClose={() => setOpen(false)} />}
    </Panel>
  );
}

function PasswordForm({ onClose }: { readonly onClose: () => void }) {
  const { t } = useTranslation('profile');
  const { email } = useSession().person;
  const form = useForm({ initialValues: { current: '', password: '' } });
  const fieldErrors = useFieldErrors(form);
  const change = useChange(changePassword);
  const onSuccess = (): void => {
    notifySuccess(t('changed'));
    onClose();
  };
  const save = form.onSubmit((body) => change.mutate({ body }, { onSuccess, onError: fieldErrors.onError }));
  return (
    <form onSubmit={save}>
      <Stack gap="md" maw={420}>
        {fieldErrors.rest && <ErrorAlert error={fieldErrors.rest} isFocused />}
        {/* Password managers store address and password together. */}
        <input type="text" name="email" autoComplete="username" value={email} readOnly hidden />
        <PasswordField
          label={t('current')}
          autoComplete="current-password"
          required
          withAsterisk={false}
          autoFocus
          {...form.getInputProps('current')}
        />
        <NewPassword
          label={t('newPassword')}
          value={form.values.password}
          onChange={(password) => form.setFieldValue('password', password)}
          error={form.errors['password']}
        />
        <Group gap="xs">
          <Button type="submit" loading={change.isPending}>
            {t('change')}
          </Button>
          <Button variant="default" onClick={onClose} disabled={change.isPending}>
            {t('cancel')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
