import { Group, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { formatNumber } from '../../parts/number.ts';
import { StatusBadge } from '../../parts/status-badge.tsx';
import { useFormatTime } from '../../parts/time.tsx';
import classes from './checks.module.css';
import type { Health } from './health.ts';

type Check = Health['checks'][number];

/** Lists the checks with their results. */
export function Checks({ checks }: { readonly checks: Health['checks'] }) {
  const checkText = useCheckText();
  return (
    <ul className={classes['list']}>
      {checks.map((check) => {
        const { title, result } = checkText(check);
        return (
          <li key={check.finding} className={classes['check']}>
            <Group justify="space-between" align="flex-start" gap="sm" wrap="nowrap">
              <Stack gap={0} miw={0}>
                <Text size="sm" fw={500}>
                  {title}
                </Text>
                <Text size="sm" c="dimmed">
                  {result}
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

/** Returns the texts of a check. */
function useCheckText(): (check: Check) => { readonly title: string; readonly result: string } {
  const { t, i18n } = useTranslation('health');
  const { language } = i18n;
  const formatTime = useFormatTime();
  return ({ finding, count, limit, expires_at }) => {
    const [about = ''] = finding.split('-');
    const values = {
      count,
      number: formatNumber(count, language),
      limit: formatNumber(limit, language),
      when: expires_at === null ? '' : formatTime(expires_at, 'day'),
    };
    return { title: t(`about.${about as 'database'}`), result: t(`findings.${finding as 'database-works'}`, values) };
  };
}
