import { Anchor, Button, Divider, Stack, TextInput } from '@mantine/core';
import { KeyRound } from 'lucide-react';
import { type FormEvent, type ReactNode, useEffect, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { beginPasskeyStepUp, stepUpByCode, stepUpByPasskey } from '../../../wire/session.ts';
import { type CallError, call } from '../api/call.ts';
import { useOnce } from '../api/hooks.ts';
import { ErrorAlert } from '../parts/error-alert.tsx';
import { authenticateWithPasskey, canUsePasskeys } from './passkey.ts';
import classes from './second-factor.module.css';
import type { Session } from './session.tsx';

export type Methods = readonly ('totp' | 'passkey' | 'recovery')[];

/** Calls that verify a second factor, at sign-in or at a step-up. */
interface FactorCalls {
  readonly byCode: typeof stepUpByCode;
  readonly beginPasskey: typeof beginPasskeyStepUp;
  readonly byPasskey: typeof stepUpByPasskey;
}

interface SecondFactorProps {
  readonly methods: Methods;
  readonly calls: FactorCalls;
  readonly onSuccess: (session: Session) => void;
  readonly onError?: (error: CallError) => void;
  readonly submitLabel: string;
  /** Content below the form, such as a link back. */
  readonly children?: ReactNode;
}

const SIX_DIGITS = /^\d{6}$/;

/** Sends a factor. Each attempt clears the error of the other way. */
function useFactor({ calls, onSuccess, onError }: Pick<SecondFactorProps, 'calls' | 'onSuccess' | 'onError'>) {
  const options = { onSuccess, ...(onError && { onError }) };
  const byCode = useOnce<Session, string>({
    mutationFn: (code) => call(calls.byCode, { body: { code } }),
    ...options,
  });
  const byPasskey = useOnce<Session>({
    mutationFn: async () => {
      const ceremony = await call(calls.beginPasskey);
      return call(calls.byPasskey, { body: { credential: await authenticateWithPasskey(ceremony.options) } });
    },
    ...options,
  });
  return {
    error: byCode.error ?? byPasskey.error,
    /** Set when a code was rejected; a new object for each one. */
    codeError: byCode.error,
    busy: byCode.isPending ? 'code' : byPasskey.isPending ? 'passkey' : undefined,
    sendCode: (code: string): void => {
      byPasskey.reset();
      byCode.mutate(code);
    },
    sendPasskey: (): void => {
      byCode.reset();
      byPasskey.mutate();
    },
  } as const;
}

/** Asks for a passkey, an app code or a recovery code, whichever the user has. */
export function SecondFactor({ methods, submitLabel, children, ...props }: SecondFactorProps) {
  const { t } = useTranslation('session');
  const { error, codeError, busy, sendCode, sendPasskey } = useFactor(props);
  const hasPasskey = methods.includes('passkey') && canUsePasskeys();
  const hasCode = methods.includes('totp') || methods.includes('recovery');
  return (
    <Stack gap="md">
      {error !== null && error.code !== 'cancelled' && <ErrorAlert error={error} isFocused={codeError === null} />}
      {hasPasskey && (
        <Button
          size="md"
          leftSection={<KeyRound size={18} aria-hidden />}
          loading={busy === 'passkey'}
          disabled={busy === 'code'}
          onClick={sendPasskey}
          data-autofocus={!hasCode || undefined}
        >
          {t('usePasskey')}
        </Button>
      )}
      {hasPasskey && hasCode && <Divider label={t('or')} />}
      {hasCode && (
        <CodeForm {...{ methods, busy, submitLabel }} error={codeError} onCode={sendCode} isMain={!hasPasskey} />
      )}
      {children}
    </Stack>
  );
}

interface CodeFormProps extends Pick<SecondFactorProps, 'methods' | 'submitLabel'> {
  readonly busy: 'code' | 'passkey' | undefined;
  readonly onCode: (code: string) => void;
  readonly error: CallError | null;
  /** False below the button of a passkey. */
  readonly isMain: boolean;
}

function CodeForm({ methods, busy, error, onCode, submitLabel, isMain }: CodeFormProps) {
  const { t } = useTranslation('session');
  const [isRecovery, setRecovery] = useState(!methods.includes('totp'));
  const [code, setCode] = useState('');
  const id = useId();
  // The next code is typed immediately: a wrong one is removed, one that was not checked stays.
  useEffect(() => {
    if (error === null) return;
    if (error.code === 'sign_in_refused') setCode('');
    document.getElementById(id)?.focus();
  }, [error, id]);
  const change = (text: string): void => {
    setCode(text);
    const digits = text.replace(/\s/g, '');
    // A complete code is sent without pressing the button.
    if (!isRecovery && busy === undefined && SIX_DIGITS.test(digits)) onCode(digits);
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (code.trim() !== '') onCode(isRecovery ? code.trim() : code.replace(/\s/g, ''));
  };
  const switchKind = (): void => {
    setRecovery(!isRecovery);
    setCode('');
    document.getElementById(id)?.focus();
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="md">
        <CodeField
          {...{ id, isRecovery }}
          isWrong={error?.code === 'sign_in_refused' && code === ''}
          value={code}
          onChange={change}
        />
        <Button type="submit" size="md" variant={isMain ? 'filled' : 'default'} loading={busy === 'code'}>
          {submitLabel}
        </Button>
        {methods.includes('totp') && methods.includes('recovery') && (
          <Anchor component="button" type="button" size="sm" onClick={switchKind}>
            {isRecovery ? t('useCode') : t('useRecoveryCode')}
          </Anchor>
        )}
      </Stack>
    </form>
  );
}

interface CodeFieldProps {
  readonly id: string;
  readonly isRecovery: boolean;
  readonly isWrong: boolean;
  readonly value: string;
  readonly onChange: (text: string) => void;
}

function CodeField({ id, isRecovery, isWrong, value, onChange }: CodeFieldProps) {
  const { t } = useTranslation('session');
  return (
    <TextInput
      id={id}
      label={isRecovery ? t('recoveryCode') : t('code')}
      description={isRecovery ? t('recoveryCodeHint') : t('codeHint')}
      value={value}
      error={isWrong}
      onChange={(event) => onChange(event.currentTarget.value)}
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
  );
}
