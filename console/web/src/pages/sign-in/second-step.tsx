import { Anchor } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { beginPasskeySignIn, signInByCode, signInByPasskey } from '../../../../wire/session.ts';
import { type CallError, call } from '../../api/call.ts';
import { useOnce } from '../../api/hooks.ts';
import { authenticateWithPasskey } from '../../session/passkey.ts';
import { SecondFactor } from '../../session/second-factor.tsx';
import { type Session, useSessionControls } from '../../session/session.tsx';
import { endOwnSession } from '../../session/sign-out.ts';

export type Methods = readonly ('totp' | 'passkey' | 'recovery')[];

interface SecondStepProps {
  readonly methods: Methods;
  readonly onBack: () => void;
}

export function SecondStep({ methods, onBack }: SecondStepProps) {
  const { t } = useTranslation('signIn');
  const { setSession, clearSession } = useSessionControls();
  const goBack = (): void => {
    onBack();
    clearSession();
  };
  const options = {
    onSuccess: setSession,
    // The first step has expired too and has to be repeated.
    onError: ({ code }: CallError) => code === 'not_signed_in' && goBack(),
  };
  const byCode = useOnce<Session, string>({
    mutationFn: (code) => call(signInByCode, { body: { code } }),
    ...options,
  });
  const byPasskey = useOnce<Session>({
    mutationFn: async () => {
      const ceremony = await call(beginPasskeySignIn);
      return call(signInByPasskey, { body: { credential: await authenticateWithPasskey(ceremony.options) } });
    },
    ...options,
  });
  const leave = useOnce<unknown>({ mutationFn: endOwnSession, onSettled: goBack });
  return (
    <SecondFactor
      methods={methods}
      error={byCode.error ?? byPasskey.error}
      busy={byCode.isPending ? 'code' : byPasskey.isPending ? 'passkey' : undefined}
      onCode={(code) => {
        byPasskey.reset();
        byCode.mutate(code);
      }}
      onPasskey={() => {
        byCode.reset();
        byPasskey.mutate();
      }}
      submitLabel={t('signIn')}
    >
      <Anchor component="button" type="button" size="sm" c="dimmed" onClick={() => leave.mutate()}>
        {t('otherPerson')}
      </Anchor>
    </SecondFactor>
  );
}
