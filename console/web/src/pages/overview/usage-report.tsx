import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { PaymentMoney } from './payment-money.tsx';
import type { Usage } from './series.ts';
import { StatCards, type StatLinks } from './stat-cards.tsx';
import { UsageCharts } from './usage-charts.tsx';

interface UsageReportProps {
  /** Undefined while it loads. */
  readonly usage: Usage | undefined;
  readonly links: StatLinks;
  readonly toPayments?: (filters: Readonly<Record<string, string>>) => string;
}

/** Shows the usage of a period: money, figures and charts. */
export function UsageReport({ usage, links, toPayments }: UsageReportProps) {
  const { t } = useTranslation('overview');
  return (
    <>
      {usage !== undefined && (
        <Text size="sm" c="dimmed">
          {t('period.counted', { from: usage.first_day, to: usage.last_day, zone: usage.zone })}
          {!usage.is_exact && ` ${t('period.notExact')}`}
        </Text>
      )}
      <PaymentMoney {...{ usage, toPayments }} />
      <StatCards {...{ usage, links }} />
      <UsageCharts usage={usage} />
    </>
  );
}
