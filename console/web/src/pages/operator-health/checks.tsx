import { Group, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { numberText } from '../../parts/number.ts';
import { StatusBadge } from '../../parts/status-badge.tsx';
import { timeText } from '../../parts/time.tsx';
import classes from './checks.module.css';
import type { Health } from './operator-health-page.tsx';

type Check = Health['checks'][number];

/** What was looked at, and how it is. */
export function Checks({ checks }: { readonly checks: Health['checks'] }) {
  const sayingOf = useSaying();
  return (
    <ul className={classes['list']}>
      {checks.map((check) => {
        const { what, how } = sayingOf(check);
        return (
          <li key={check.finding} className={classes['check']}>
            <Group justify="space-between" align="flex-start" gap="sm" wrap="nowrap">
              <Stack gap={0} miw={0}>
                <Text size="sm" fw={500}>
                  {what}
                </Text>
                <Text size="sm" c="dimmed">
                  {how}
                </Text>
              </Stack>
              <StatusBadge status={check.state} />
            </Group>
          </li>
        );
      })}
    </ul>
  );
}

/** In the person's words; those of the service for a finding that this page does not know. */
function useSaying(): (check: Check) => { readonly what: string; readonly how: string } {
  const { t, i18n } = useTranslation('health');
  const { language } = i18n;
  return ({ finding, count, limit, ends_at, text }) => {
    const [about = ''] = finding.split('-');
    if (!i18n.exists(`health:findings.${finding}`, { count })) return { what: finding, how: text };
    const values = {
      count,
      number: numberText(count, language),
      limit: numberText(limit, language),
      when: ends_at === null ? '' : timeText(ends_at, language, true),
    };
    return {
      what: t(`about.${about as 'database'}`),
      how: t(`findings.${finding as 'database-works'}`, values),
    };
  };
}
