import { Group, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { StatusBadge } from '../../parts/status-badge.tsx';
import classes from './checks.module.css';
import type { Health } from './operator-health-page.tsx';

/** What was looked at, and how it is. The service tells both in English. */
export function Checks({ checks }: { readonly checks: Health['checks'] }) {
  const nameOf = useCheckName();
  return (
    <ul className={classes['list']}>
      {checks.map(({ name, state, detail }) => (
        <li key={name} className={classes['check']}>
          <Group justify="space-between" align="flex-start" gap="sm" wrap="nowrap">
            <Stack gap={0} miw={0}>
              <Text size="sm" fw={500}>
                {nameOf(name)}
              </Text>
              <Text size="sm" c="dimmed" lang="en">
                {detail}
              </Text>
            </Stack>
            <StatusBadge status={state} />
          </Group>
        </li>
      ))}
    </ul>
  );
}

function useCheckName(): (name: string) => string {
  const { t, i18n } = useTranslation('operator');
  return (name) => {
    const key = `health.names.${name}`;
    return i18n.exists(`operator:${key}`) ? t(key as 'health.names.Database') : name;
  };
}
