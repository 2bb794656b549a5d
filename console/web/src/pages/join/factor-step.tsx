import { Stack, Text, UnstyledButton } from '@mantine/core';
import { ChevronRight, Fingerprint, type LucideIcon, Smartphone } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { beginPasskeyEnrollment, enrollByPasskey, enrollByTotp } from '../../../../wire/session.ts';
import { call, setCsrfToken } from '../../api/call.ts';
import { useOnce } from '../../api/hooks.ts';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { Badge } from '../../parts/status-badge.tsx';
import { canUsePasskeys, registerPasskey } from '../../session/passkey.ts';
import { TotpEnrollment } from '../../session/totp-enrollment.tsx';
import type { Enrollment, EnrollmentResult } from './enrollment.ts';
import classes from './factor-step.module.css';

interface FactorStepProps {
  readonly enrollment: Enrollment;
  readonly onEnrolled: (result: EnrollmentResult) => void;
}

/** Returns the two ways to complete the enrollment. */
function useEnroll(onEnrolled: FactorStepProps['onEnrolled']) {
  const { t } = useTranslation('join');
  const options = {
    onSuccess: (result: EnrollmentResult) => {
      setCsrfToken(result.session.csrf_token);
      onEnrolled(result);
    },
  };
  const byCode = useOnce<EnrollmentResult, string>({
    mutationFn: (code) => call(enrollByTotp, { body: { code } }),
    ...options,
  });
  const byPasskey = useOnce<EnrollmentResult>({
    mutationFn: async () => {
      const ceremony = await call(beginPasskeyEnrollment);
      const credential = await registerPasskey(ceremony.options);
      return call(enrollByPasskey, { body: { credential, label: t('passkey') } });
    },
    ...options,
  });
  return { byCode, byPasskey };
}

export function FactorStep({ enrollment, onEnrolled }: FactorStepProps) {
  const { t } = useTranslation('join');
  const [isApp, setApp] = useState(false);
  const { byCode, byPasskey } = useEnroll(onEnrolled);
  if (isApp) {
    return (
      <TotpEnrollment
        totp={enrollment.totp}
        isBusy={byCode.isPending}
        error={byCode.error}
        onCode={byCode.mutate}
        onCancel={() => setApp(false)}
      />
    );
  }
  return (
    <Stack gap="sm">
      {byPasskey.error && <ErrorAlert error={byPasskey.error} isFocused />}
      {canUsePasskeys() && (
        <Choice
          icon={Fingerprint}
          title={t('passkey')}
          hint={t('passkeyHint')}
          badge={t('recommended')}
          isBusy={byPasskey.isPending}
          onClick={() => byPasskey.mutate()}
        />
      )}
      <Choice
        icon={Smartphone}
        title={t('app')}
        hint={t('appHint')}
        isBusy={byPasskey.isPending}
        onClick={() => setApp(true)}
      />
    </Stack>
  );
}

interface ChoiceProps {
  readonly icon: LucideIcon;
  readonly title: string;
  readonly hint: string;
  readonly badge?: string;
  readonly isBusy: boolean;
  readonly onClick: () => void;
}

function Choice({ icon: Icon, title, hint, badge, isBusy, onClick }: ChoiceProps) {
  return (
    <UnstyledButton className={classes['choice'] ?? ''} disabled={isBusy} onClick={onClick}>
      <Icon size={22} strokeWidth={1.75} aria-hidden className={classes['icon']} />
      <span className={classes['words']}>
        <span className={classes['title']}>
          {title} {badge !== undefined && <Badge tone="info">{badge}</Badge>}
        </span>
        <Text span size="sm" c="dimmed">
          {hint}
        </Text>
      </span>
      <ChevronRight size={18} aria-hidden />
    </UnstyledButton>
  );
}
