import { Anchor, Button, Divider, Stack, TextInput } from '@mantine/core';
import { KeyRound } from 'lucide-react';
import { type ReactNode, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { CallError } from '../api/call.ts';
import { ErrorAlert } from '../parts/error-alert.tsx';
import { canUsePasskeys } from './passkey.ts';
import classes from './second-factor.module.css';

type Method = 'totp' | 'passkey' | 'recovery';

interface SecondFactorProps {
  readonly methods: readonly Method[];
  readonly error: CallError | null;
  readonly busy: 'code' | 'passkey' | undefined;
  readonly onCode: (code: string) => void;
  readonly onPasskey: () => void;
  readonly submitLabel: string;
  /** Content below the form, such as a link back. */
  readonly children?: ReactNode;
}

const SIX_DIGITS = /^\d{6}$/;

/** Asks for a passkey, an app code or a recovery code, whichever the user has. */
export function SecondFactor(props: SecondFactorProps) {
  const { methods, error, busy, onPasskey, children } = props;
  const { t } = useTranslation('session');
  const hasPasskey = methods.includes('passkey') && canUsePasskeys();
  const hasCode = methods.includes('totp') || methods.includes('recovery');
  return (
    <Stack gap="md">
      {error !== null && error.code !== 'cancelled' && <ErrorAlert error={error} isFocused />}
      {hasPasskey && (
        <Button
          size="md"
          leftSection={<KeyRound size={18} aria-hidden />}
          loading={busy === 'passkey'}
          disabled={busy === 'code'}
          onClick={onPasskey}
          data-autofocus={!hasCode || undefined}
        >
          {t('usePasskey')}
        </Button>
      )}
      {hasPasskey && hasCode && <Divider label={t('or')} />}
      {hasCode && <CodeForm {...props} isMain={!hasPasskey} />}
      {children}
    </Stack>
  );
}

function CodeForm({ methods, busy, onCode, submitLabel, isMain }: SecondFactorProps & { readonly isMain: boolean }) {
  const { t } = useTranslation('session');
  const [isRecovery, setRecovery] = useState(!methods.includes('totp'));
  const [code, setCode] = useState('');
  const id = useId();
  const change = (text: string): void => {
    setCode(text);
    const digits = text.replace(/\s/g, '');
    // A complete code is sent without pressing the button.
    if (!isRecovery && busy === undefined && SIX_DIGITS.test(digits)) onCode(digits);
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (code.trim() !== '') onCode(isRecovery ? code.trim() : code.replace(/\s/g, ''));
      }}
    >
      <Stack gap="md">
        <TextInput
          id={id}
          label={isRecovery ? t('recoveryCode') : t('code')}
          description={isRecovery ? t('recoveryCodeHint') : t('codeHint')}
          value={code}
          onChange={(event) => change(event.currentTarget.value)}
          // The browser may suggest an app code; it must never store a recovery code.
          autoComplete={isRecovery ? 'off' : 'one-time-code'}
          inputMode={isRecovery ? 'text' : 'numeric'}
          spellCheck={false}
          autoCapitalize="none"
          classNames={{ input: classes['code'] ?? '' }}
          data-autofocus
          autoFocus
          required
          withAsterisk={false}
        />
        <Button type="submit" size="md" variant={isMain ? 'filled' : 'default'} loading={busy === 'code'}>
          {submitLabel}
        </Button>
        {methods.includes('totp') && methods.includes('recovery') && (
          <Anchor
            component="button"
            type="button"
            size="sm"
            onClick={() => {
              setRecovery(!isRecovery);
              setCode('');
              document.getElementById(id)?.focus();
            }}
          >
            {isRecovery ? t('useCode') : t('useRecoveryCode')}
          </Anchor>
        )}
      </Stack>
    </form>
  );
}
