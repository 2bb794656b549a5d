import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { numberText } from '../../parts/number.ts';
import { useNow } from '../../parts/time.tsx';
import classes from './captures.module.css';
import { partsOf, SOON } from './duration.ts';

const SECOND = 1000;

/** Counts down to the end of a capture, without asking the service. */
export function TimeLeft({ until }: { readonly until: string }) {
  const { t, i18n } = useTranslation('captures');
  const left = Date.parse(until) - useNow(SECOND);
  if (left <= 0) {
    return (
      <Text span inherit c="dimmed">
        {t('ended')}
      </Text>
    );
  }
  const words = partsOf(left).map(([unit, value], index) =>
    numberText(value, i18n.language, {
      style: 'unit',
      unit,
      unitDisplay: 'narrow',
      // So that the line does not jump as it counts.
      minimumIntegerDigits: index === 0 ? 1 : 2,
    }),
  );
  return (
    <time dateTime={until} title={until} role="timer" className={classes['left']} data-soon={left < SOON || undefined}>
      {words.join(' ')}
    </time>
  );
}
