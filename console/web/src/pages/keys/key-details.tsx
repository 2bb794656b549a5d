import { Alert, Anchor, Stack, Text, Title } from '@mantine/core';
import { TriangleAlert } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { Details } from '../../parts/details.tsx';
import { StatusBadge } from '../../parts/status-badge.tsx';
import { Time } from '../../parts/time.tsx';
import { useSetTextFilters } from '../../parts/url-filters.ts';
import { useCan, useTenant } from '../../session/tenant.ts';
import type { Key, ListedKey } from './key-values.ts';
import classes from './keys.module.css';
import { toTextKey } from './permissions.ts';

/** Shows all data of a key except its secret. */
export function KeyDetails({ apiKey, keys }: { readonly apiKey: Key; readonly keys: readonly ListedKey[] }) {
  const { t } = useTranslation('keys');
  const { description, prefix, state, successor, revoked_at } = apiKey;
  const replacement = keys.find(({ id }) => id === successor);
  return (
    <Stack gap="lg">
      <Details
        items={[
          description === ''
            ? undefined
            : { label: t('detail.description'), value: <span className={classes['words']}>{description}</span> },
          { label: t('detail.state'), value: <StatusBadge status={state} /> },
          { label: t('detail.prefix'), value: <span className={classes['mono']}>{prefix}…</span> },
          { label: t('detail.made'), value: <Time value={apiKey.created_at} isRelative /> },
          {
            label: t('detail.used'),
            value: <Time value={apiKey.last_used_at} isRelative none={t('detail.notUsed')} />,
          },
          // A revoked key no longer expires.
          revoked_at === null
            ? {
                label: t('detail.expires'),
                value: <Time value={apiKey.expires_at} isRelative none={t('detail.never')} />,
              }
            : { label: t('detail.revoked'), value: <Time value={revoked_at} isRelative /> },
          replacement && { label: t('detail.successor'), value: <KeyLink apiKey={replacement} /> },
        ]}
      />
      <AllowList apiKey={apiKey} />
      <Permissions apiKey={apiKey} />
      <Stack gap="xs" align="flex-start">
        <RequestsLink apiKey={apiKey} />
        <AuditLogLink apiKey={apiKey} />
      </Stack>
    </Stack>
  );
}

const KeyLink = ({ apiKey: { id, name, prefix } }: { readonly apiKey: ListedKey }) => (
  <Anchor component={Link} to={`?key=${encodeURIComponent(id)}`} inherit>
    {name} ({prefix}…)
  </Anchor>
);

/** Links to the recorded requests of the key. */
function RequestsLink({ apiKey: { id } }: { readonly apiKey: Key }) {
  const { t } = useTranslation('keys');
  const { account, environment } = useTenant();
  if (!useCan()('requests:read')) return null;
  return (
    <Anchor component={Link} to={`/a/${account}/${environment}/requests?key=${encodeURIComponent(id)}`} size="sm">
      {t('detail.requests')}
    </Anchor>
  );
}

/** Links to the audit records of the key. */
function AuditLogLink({ apiKey: { id } }: { readonly apiKey: Key }) {
  const { t } = useTranslation('keys');
  const { account } = useTenant();
  const page = `/a/${account}/audit`;
  const setFilters = useSetTextFilters(page);
  if (!useCan()('audit:read')) return null;
  return (
    <Anchor component={Link} to={page} size="sm" onClick={() => setFilters({ target: `key:${id}` })}>
      {t('detail.log')}
    </Anchor>
  );
}

function Permissions({ apiKey }: { readonly apiKey: Key }) {
  const { t } = useTranslation('keys');
  return (
    <section>
      <Title order={3} size="h5" mb="xs">
        {t('detail.permissions')}
      </Title>
      <ul className={classes['list']} data-wide>
        {apiKey.permissions.map((permission) => (
          <li key={permission}>
            <Text span size="sm" ff="monospace">
              {permission}
            </Text>
            <Text size="sm" c="dimmed">
              {t(`permission.${toTextKey(permission)}`)}
            </Text>
          </li>
        ))}
      </ul>
    </section>
  );
}

function AllowList({ apiKey: { allow_list } }: { readonly apiKey: Key }) {
  const { t } = useTranslation('keys');
  return (
    <section>
      <Title order={3} size="h5" mb="xs">
        {t('detail.addresses')}
      </Title>
      {allow_list.length === 0 ? (
        <Alert color="yellow" icon={<TriangleAlert size={18} aria-hidden />}>
          {t('detail.addressesNone')}
        </Alert>
      ) : (
        <ul className={classes['list']}>
          {allow_list.map(({ cidr, note }) => (
            <li key={cidr}>
              <Text span size="sm" ff="monospace">
                {cidr}
              </Text>{' '}
              <Text span size="sm" c="dimmed" className={classes['words'] ?? ''}>
                {note}
              </Text>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
