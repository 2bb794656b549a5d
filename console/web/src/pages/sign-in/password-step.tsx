import { Button, Divider, Stack, Text, TextInput } from '@mantine/core';
import { KeyRound } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ValueOf } from '../../../../../src/http/fields.ts';
import { beginPasskeyOnly, signIn, signInByPasskeyOnly } from '../../../../wire/session.ts';
import { call, setCsrfToken } from '../../api/call.ts';
import { useOnce } from '../../api/hooks.ts';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { PasswordField } from '../../parts/password-field.tsx';
import { authenticateWithPasskey, canUsePasskeys } from '../../session/passkey.ts';
import type { Methods } from '../../session/second-factor.tsx';
import { type Session, useSessionControls } from '../../session/session.tsx';

export function PasswordStep({ onAccepted }: { readonly onAccepted: (methods: Methods) => void }) {
  const { t } = useTranslation('signIn');
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const byPassword = useOnce<ValueOf<typeof signIn.data>>({
    mutationFn: () => call(signIn, { body: { email: email.trim(), password } }),
    onSuccess: ({ methods, csrf_token }) => {
      setCsrfToken(csrf_token);
      onAccepted(methods);
    },
  });
  const byPasskey = usePasskeySignIn();
  const error = byPassword.error ?? (byPasskey.error?.code === 'cancelled' ? null : byPasskey.error);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    byPasskey.reset();
    byPassword.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="md">
        {error && <ErrorAlert error={error} isFocused />}
        {byPassword.error?.code === 'sign_in_refused' && (
          <Text size="sm" c="dimmed">
            {t('locks')}
          </Text>
        )}
        <Credentials {...{ email, setEmail, password, setPassword }} />
        <Button type="submit" size="md" mt={4} loading={byPassword.isPending} disabled={byPasskey.isPending}>
          {t('goOn')}
        </Button>
        {canUsePasskeys() && (
          <PasskeyButton
            isBusy={byPasskey.isPending}
            isDisabled={byPassword.isPending}
            onClick={() => {
              byPassword.reset();
              byPasskey.mutate();
            }}
          />
        )}
        <Text size="sm" c="dimmed">
          {t('passwordLost')}
        </Text>
      </Stack>
    </form>
  );
}

function usePasskeySignIn() {
  const { setSession } = useSessionControls();
  return useOnce<Session>({
    mutationFn: async () => {
      const ceremony = await call(beginPasskeyOnly);
      return call(signInByPasskeyOnly, { body: { credential: await authenticateWithPasskey(ceremony.options) } });
    },
    onSuccess: setSession,
  });
}

interface CredentialsProps {
  readonly email: string;
  readonly setEmail: (email: string) => void;
  readonly password: string;
  readonly setPassword: (password: string) => void;
}

function Credentials({ email, setEmail, password, setPassword }: CredentialsProps) {
  const { t } = useTranslation('signIn');
  return (
    <>
      <TextInput
        label={t('email')}
        type="email"
        name="email"
        size="md"
        autoComplete="username"
        autoCapitalize="none"
        spellCheck={false}
        required
        withAsterisk={false}
        autoFocus
        value={email}
        onChange={(event) => setEmail(event.currentTarget.value)}
      />
      <PasswordField
        label={t('password')}
        name="password"
        size="md"
        autoComplete="current-password"
        required
        withAsterisk={false}
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
      />
    </>
  );
}

interface PasskeyButtonProps {
  readonly isBusy: boolean;
  readonly isDisabled: boolean;
  readonly onClick: () => void;
}

function PasskeyButton({ isBusy, isDisabled, onClick }: PasskeyButtonProps) {
  const { t } = useTranslation('signIn');
  return (
    <>
      <Divider label={t('or')} />
      <Button
        variant="default"
        size="md"
        leftSection={<KeyRound size={18} aria-hidden />}
        loading={isBusy}
        disabled={isDisabled}
        onClick={onClick}
      >
        {t('byPasskey')}
      </Button>
    </>
  );
}
