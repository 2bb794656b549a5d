import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { UserPlus } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useNavigate } from 'react-router';
import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { listAccounts } from '../../../../wire/operator.ts';
import { joinAccount } from '../../../../wire/team.ts';
import { useChange } from '../../api/hooks.ts';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { useSessionControls } from '../../session/session.tsx';

type Account = ValueOf<typeof listAccounts.data>['accounts'][number];

/** True for an account without users and without production keys: it can contain test data only. */
const isJoinable = ({ people, production_keys, status, is_altered }: Account): boolean =>
  people === 0 && production_keys === 0 && status !== 'suspended' && !is_altered;

/**
 * Offers the operator to join an account without users. The only account of a new service is the one whose key the
 * start screen showed, so its tokens are the first to see.
 */
export function JoinAccount({ account }: { readonly account: Account }) {
  const { t } = useTranslation('operator');
  const { setSession } = useSessionControls();
  const navigate = useNavigate();
  const join = useChange(joinAccount);
  if (!isJoinable(account)) return null;
  const { id, name } = account;
  const onClick = (): void =>
    join.mutate(
      { params: { id } },
      {
        onSuccess: (session) => {
          setSession(session);
          void navigate(`/a/${id}/sandbox/tokens`);
        },
      },
    );
  return (
    <Alert icon={<UserPlus size={18} aria-hidden />} title={t('join.title', { name })}>
      <Stack gap="sm">
        <Text size="sm">{t('join.text')}</Text>
        {join.error !== null && <ErrorAlert error={join.error} />}
        <Group>
          <Button onClick={onClick} loading={join.isPending}>
            {t('join.button', { name })}
          </Button>
        </Group>
      </Stack>
    </Alert>
  );
}
