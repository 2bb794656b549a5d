import { Anchor, Stack, Text, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { CallError } from '../api/call.ts';
import { CopyField } from '../parts/copy.tsx';
import { ErrorAlert } from '../parts/error-alert.tsx';
import { FormButtons } from '../parts/form-dialog.tsx';
import { QrCode } from '../parts/qr-code.tsx';
import classes from './totp-enrollment.module.css';

interface TotpEnrollmentProps {
  readonly totp: { readonly secret: string; readonly uri: string };
  readonly isBusy: boolean;
  readonly error: CallError | null;
  readonly onCode: (code: string) => void;
  readonly onCancel: () => void;
}

const GROUPS = /.{1,4}/g;

/** Shows the QR code, then asks for a code. */
export function TotpEnrollment({ totp, isBusy, error, onCode, onCancel }: TotpEnrollmentProps) {
  const { t } = useTranslation('session');
  const [code, setCode] = useState('');
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onCode(code.replace(/\s/g, ''));
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="md">
        {error !== null && <ErrorAlert error={error} isFocused />}
        <div className={classes['scan']}>
          <div className={classes['picture']}>
            <QrCode text={totp.uri} label={t('qrCode')} />
          </div>
          <Stack gap={6} flex="1 1 12rem" miw={0}>
            <Text size="sm">{t('scan')}</Text>
            {/* The app of this phone takes the secret from the link; a link of this scheme is never sent anywhere. */}
            <Anchor href={totp.uri} rel="noreferrer" referrerPolicy="no-referrer" size="sm" hiddenFrom="sm">
              {t('openApp')}
            </Anchor>
            <Text size="sm" c="dimmed">
              {t('cannotScan')}
            </Text>
            <CopyField value={totp.secret} label={t('secret')} shown={totp.secret.match(GROUPS)?.join(' ') ?? ''} />
          </Stack>
        </div>
        <TextInput
          label={t('code')}
          description={t('codeHint')}
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
          inputMode="numeric"
          autoComplete="one-time-code"
          required
          withAsterisk={false}
          data-autofocus
          autoFocus
        />
        <FormButtons onCancel={onCancel} cancelLabel={t('back')} label={t('confirm')} isBusy={isBusy} />
      </Stack>
    </form>
  );
}
