import { Anchor } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { beginPasskeySignIn, signInByCode, signInByPasskey } from '../../../../wire/session.ts';
import { useOnce } from '../../api/hooks.ts';
import { type Methods, SecondFactor } from '../../session/second-factor.tsx';
import { useSessionControls } from '../../session/session.tsx';
import { endOwnSession } from '../../session/sign-out.ts';

const SIGN_IN_CALLS = { byCode: signInByCode, beginPasskey: beginPasskeySignIn, byPasskey: signInByPasskey };

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
  const leave = useOnce<unknown>({ mutationFn: endOwnSession, onSettled: goBack });
  return (
    <SecondFactor
      methods={methods}
      calls={SIGN_IN_CALLS}
      onSuccess={setSession}
      // The first step has expired too and has to be repeated.
      onError={({ code }) => code === 'not_signed_in' && goBack()}
      submitLabel={t('signIn')}
    >
      <Anchor component="button" type="button" size="sm" c="dimmed" onClick={() => leave.mutate()}>
        {t('otherPerson')}
      </Anchor>
    </SecondFactor>
  );
}
