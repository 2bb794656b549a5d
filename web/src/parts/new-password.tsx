import { PasswordInput, Progress, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { LIMITS } from '../../../src/kernel/limits.ts';

interface NewPasswordProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly error?: ReactNode;
}

const LEAST = LIMITS.passwordCharactersAtLeast;

/** A password that is being made up. Whether it is good enough, the service decides. */
export function NewPassword({ label, value, onChange, error }: NewPasswordProps) {
  const { t } = useTranslation('parts');
  const missing = Math.max(LEAST - [...value].length, 0);
  return (
    <Stack gap={6}>
      <PasswordInput
        label={label}
        description={t('passwordRule')}
        autoComplete="new-password"
        required
        withAsterisk={false}
        minLength={LEAST}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
        error={error}
      />
      {/* What is wrong with it is the one verdict: it may be long enough, and still be easy to guess. */}
      {!error && (
        <>
          <Progress
            value={(1 - missing / LEAST) * 100}
            size={4}
            color={missing === 0 ? 'teal' : 'yellow'}
            aria-hidden
          />
          <Text size="xs" c="dimmed" aria-live="polite" mih="1.2em">
            {value !== '' && (missing === 0 ? t('passwordLong') : t('passwordShort', { count: missing }))}
          </Text>
        </>
      )}
    </Stack>
  );
}
