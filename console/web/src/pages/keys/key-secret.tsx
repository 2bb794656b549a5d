import { Alert, Stack, Text, Title } from '@mantine/core';
import { TriangleAlert } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { createKey } from '../../../../wire/keys.ts';
import { FirstCall } from '../../parts/first-call.tsx';
import { SecretOnce } from '../../parts/secret-once.tsx';
import { useTenant } from '../../session/tenant.ts';

export type IssuedKey = NonNullable<ValueOf<typeof createKey.data>['result']>;

interface KeySecretProps {
  readonly issued: IssuedKey;
  readonly onStored: () => void;
  /** Text of the button that leaves the key. */
  readonly doneLabel?: string;
}

/** Shows a new key once, with a first call to try it. */
export function KeySecret({ issued, onStored, doneLabel }: KeySecretProps) {
  const { t } = useTranslation('keys');
  const { environment } = useTenant();
  return (
    <SecretOnce label={t('secret.label')} secret={issued.secret} {...{ onStored, doneLabel }}>
      <Stack gap="xs">
        <Title order={3} size="h5">
          {t('secret.try')}
        </Title>
        <Text size="sm" c="dimmed">
          {t('secret.tryText')}
        </Text>
        {issued.key.allow_list.length === 0 && (
          <Alert color="yellow" icon={<TriangleAlert size={18} aria-hidden />}>
            {t('secret.addresses')}
          </Alert>
        )}
        <FirstCall label="curl" {...{ environment }} secret={issued.secret} permissions={issued.key.permissions} />
      </Stack>
    </SecretOnce>
  );
}
