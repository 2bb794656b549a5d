import { Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useNavigate } from 'react-router';
import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { enroll } from '../../../../wire/session.ts';
import { RecoveryCodes } from '../../parts/recovery-codes.tsx';
import { useSessionControls } from '../../session/session.tsx';
import { TwoColumns } from '../../shell/two-columns.tsx';
import { type EnrollmentResult, FactorStep } from './factor-step.tsx';
import { forgetSecret } from './invitation-secret.ts';
import { useInvitationText } from './invitation-text.ts';
import type { InvitationView } from './join-page.tsx';
import { PersonStep } from './person-step.tsx';

export type Enrollment = ValueOf<typeof enroll.data>;

/** Stored in the history entry, so that a reloaded page knows that the link was used. */
const ENROLLED_STATE = { hasEnrolled: true };

export const hasEnrolled = (state: unknown): boolean =>
  (state as Partial<typeof ENROLLED_STATE> | null | undefined)?.hasEnrolled === true;

interface JoinStepsProps {
  readonly secret: string;
  readonly invitation: InvitationView;
}

/** Enrollment in three steps: user, second factor, recovery codes. */
export function JoinSteps({ secret, invitation }: JoinStepsProps) {
  const { t } = useTranslation('join');
  const { setSession } = useSessionControls();
  const navigate = useNavigate();
  const { title, isReset, recipient, endsAt } = useInvitationText(invitation);
  const [enrollment, setEnrollment] = useState<Enrollment>();
  const [result, setResult] = useState<EnrollmentResult>();
  const numbered = (text: string, step: number) => (
    <>
      <Text span inherit fw={500}>
        {t('step', { number: step })}
      </Text>
      {` · ${text}`}
    </>
  );
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
      <TwoColumns title={t('codesTitle')} hint={numbered(t('codesHint'), 3)}>
        <RecoveryCodes codes={result.recovery_codes} onStored={finish} />
      </TwoColumns>
    );
  }
  if (enrollment !== undefined) {
    return (
      <TwoColumns title={t('factorTitle')} hint={numbered(t('factorHint'), 2)}>
        <FactorStep enrollment={enrollment} onEnrolled={onEnrolled} />
      </TwoColumns>
    );
  }
  return (
    <TwoColumns title={title} hint={numbered(isReset ? t('resetHint') : recipient, 1)}>
      <PersonStep secret={secret} invitation={invitation} onSubmitted={setEnrollment} />
      <Text size="sm" c="dimmed">
        {endsAt}
      </Text>
    </TwoColumns>
  );
}
