import { Progress, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { LIMITS } from '../../../../src/kernel/limits.ts';
import { PasswordField } from './password-field.tsx';

interface NewPasswordProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly error?: ReactNode;
}

/** Longest repeated run that is reported. */
const MAX_RUN = 4;

/** Returns true for one repeated character or short run. */
function isRepetition(password: string): boolean {
  const characters = [...password.toLowerCase()];
  return Array.from({ length: MAX_RUN }, (_, index) => index + 1).some((run) =>
    characters.every((character, at) => character === characters[at % run]),
  );
}

const MIN_CHARACTERS = LIMITS.passwordCharactersAtLeast;

/** Field for a new password. The service decides whether it is strong enough. */
export function NewPassword({ label, value, onChange, error }: NewPasswordProps) {
  const { t } = useTranslation('parts');
  const missing = Math.max(MIN_CHARACTERS - [...value].length, 0);
  const isRepeated = isRepetition(value);
  const hint = isRepeated ? t('passwordRepeats') : t('passwordLong');
  return (
    <Stack gap={6}>
      <PasswordField
        label={label}
        description={t('passwordRule')}
        autoComplete="new-password"
        required
        withAsterisk={false}
        minLength={MIN_CHARACTERS}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
        error={error}
      />
      {/* An error replaces the hint, because a password can be long enough and still easy to guess. */}
      {!error && (
        <>
          <Progress
            value={(1 - missing / MIN_CHARACTERS) * 100}
            size={4}
            // Never the color of success, because only the service can judge.
            color={missing > 0 ? 'yellow' : isRepeated ? 'red' : 'gray'}
            aria-hidden
          />
          <Text size="xs" c="dimmed" aria-live="polite" mih="1.2em">
            {value !== '' && (missing === 0 ? hint : t('passwordShort', { count: missing }))}
          </Text>
        </>
      )}
    </Stack>
  );
}
