import { Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useNavigate } from 'react-router';
import { RecoveryCodes } from '../../parts/recovery-codes.tsx';
import { useSessionControls } from '../../session/session.tsx';
import { TwoColumns } from '../../shell/two-columns.tsx';
import type { Enrollment, EnrollmentResult, InvitationView } from './enrollment.ts';
import { FactorStep } from './factor-step.tsx';
import { forgetSecret } from './invitation-secret.ts';
import { useInvitationText } from './invitation-text.ts';
import { PersonStep } from './person-step.tsx';

/** Stored in the history entry, so that a reloaded page knows that the link was used. */
const ENROLLED_STATE = { hasEnrolled: true };

export const hasEnrolled = (state: unknown): boolean =>
  (state as Partial<typeof ENROLLED_STATE> | null | undefined)?.hasEnrolled === true;

interface JoinStepsProps {
  readonly secret: string;
  readonly invitation: InvitationView;
}

function StepHint({ step, text }: { readonly step: number; readonly text: string }) {
  const { t } = useTranslation('join');
  return (
    <>
      <Text span inherit fw={500}>
        {t('step', { number: step })}
      </Text>
      {` · ${text}`}
    </>
  );
}

/** Enrollment in three steps: user, second factor, recovery codes. */
export function JoinSteps({ secret, invitation }: JoinStepsProps) {
  const { t } = useTranslation('join');
  const { setSession } = useSessionControls();
  const navigate = useNavigate();
  const { title, isReset, recipient, endsAt } = useInvitationText(invitation);
  const [enrollment, setEnrollment] = useState<Enrollment>();
  const [result, setResult] = useState<EnrollmentResult>();
  const onEnrolled = (enrolled: EnrollmentResult): void => {
    setResult(enrolled);
    void navigate('.', { replace: true, state: ENROLLED_STATE });
  };
  const finish = (): void => {
    if (result === undefined) return;
    forgetSecret();
    setSession(result.session);
    void navigate('/', { replace: true });
  };
  if (result !== undefined) {
    return (
      <TwoColumns title={t('codesTitle')} hint={<StepHint step={3} text={t('codesHint')} />}>
        <RecoveryCodes codes={result.recovery_codes} onStored={finish} />
      </TwoColumns>
    );
  }
  if (enrollment !== undefined) {
    return (
      <TwoColumns title={t('factorTitle')} hint={<StepHint step={2} text={t('factorHint')} />}>
        <FactorStep enrollment={enrollment} onEnrolled={onEnrolled} />
      </TwoColumns>
    );
  }
  return (
    <TwoColumns title={title} hint={<StepHint step={1} text={isReset ? t('resetHint') : recipient} />}>
      <PersonStep secret={secret} invitation={invitation} onSubmitted={setEnrollment} />
      <Text size="sm" c="dimmed">
        {endsAt}
      </Text>
    </TwoColumns>
  );
}
