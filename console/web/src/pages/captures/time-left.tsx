import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { formatNumber } from '../../parts/number.ts';
import { useNow } from '../../parts/time.tsx';
import classes from './captures.module.css';
import { SOON_MS, splitDuration } from './duration.ts';

const SECOND_MS = 1000;

/** Counts down to the expiry of a capture without calling the service. */
export function TimeLeft({ until }: { readonly until: string }) {
  const { t, i18n } = useTranslation('captures');
  const remaining = Date.parse(until) - useNow(SECOND_MS);
  if (remaining <= 0) {
    return (
      <Text span inherit c="dimmed">
        {t('ended')}
      </Text>
    );
  }
  const parts = splitDuration(remaining).map(([unit, value], index) =>
    formatNumber(value, i18n.language, {
      style: 'unit',
      unit,
      unitDisplay: 'narrow',
      // Two digits keep the width of the line while it counts.
      minimumIntegerDigits: index === 0 ? 1 : 2,
    }),
  );
  return (
    <time
      dateTime={until}
      title={until}
      role="timer"
      className={classes['left']}
      data-soon={remaining < SOON_MS || undefined}
    >
      {parts.join(' ')}
    </time>
  );
}
