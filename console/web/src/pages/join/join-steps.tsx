import { Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useNavigate } from 'react-router';
import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { enroll } from '../../../../wire/session.ts';
import { RecoveryCodes } from '../../parts/recovery-codes.tsx';
import { useVisit } from '../../session/session.tsx';
import { TwoColumns } from '../../shell/two-columns.tsx';
import { FactorStep, type Joined } from './factor-step.tsx';
import { forgetSecret } from './invitation-secret.ts';
import type { Invited } from './join-page.tsx';
import { PersonStep } from './person-step.tsx';
import { useInvitedWords } from './words.ts';

export type Enrolment = ValueOf<typeof enroll.data>;

/** Kept with the address, so that a page that is loaded anew knows that the link has done its work. */
const JOINED = { hasJoined: true };

export const hasJoined = (state: unknown): boolean =>
  (state as Partial<typeof JOINED> | null | undefined)?.hasJoined === true;

interface JoinStepsProps {
  readonly secret: string;
  readonly invited: Invited;
}

/** Who, then the second factor, then the codes for the day it is lost. */
export function JoinSteps({ secret, invited }: JoinStepsProps) {
  const { t } = useTranslation('join');
  const { adopt } = useVisit();
  const navigate = useNavigate();
  const { title, isReset, whom, endsAt } = useInvitedWords(invited);
  const [enrolment, setEnrolment] = useState<Enrolment>();
  const [joined, setJoined] = useState<Joined>();
  const number = (text: string, step: number) => (
    <>
      <Text span inherit fw={500}>
        {t('step', { number: step })}
      </Text>
      {` · ${text}`}
    </>
  );
  const take = (now: Joined): void => {
    setJoined(now);
    void navigate('.', { replace: true, state: JOINED });
  };
  const enter = (): void => {
    if (joined === undefined) return;
    forgetSecret();
    adopt(joined.session);
    void navigate('/', { replace: true });
  };
  if (joined !== undefined) {
    return (
      <TwoColumns title={t('codesTitle')} hint={number(t('codesHint'), 3)}>
        <RecoveryCodes codes={joined.recovery_codes} onStored={enter} />
      </TwoColumns>
    );
  }
  if (enrolment !== undefined) {
    return (
      <TwoColumns title={t('factorTitle')} hint={number(t('factorHint'), 2)}>
        <FactorStep enrolment={enrolment} onJoined={take} />
      </TwoColumns>
    );
  }
  return (
    <TwoColumns title={title} hint={number(isReset ? t('resetHint') : whom, 1)}>
      <PersonStep secret={secret} invited={invited} onGiven={setEnrolment} />
      <Text size="sm" c="dimmed">
        {endsAt}
      </Text>
    </TwoColumns>
  );
}
