import { VisuallyHidden } from '@mantine/core';
import { ArrowDown, ArrowUp, Minus } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useNumberFormats } from './number-formats.ts';
import classes from './overview.module.css';

/** Direction that is an improvement, if any. */
export type GoodDirection = 'up' | 'down' | 'neither';

interface ChangeProps {
  /** Null when there was nothing to measure. */
  readonly now: number | null;
  readonly before: number | null;
  readonly good: GoodDirection;
  /** Shares are compared in percentage points, other figures in percent. */
  readonly isShare?: boolean;
}

/** Shows the change of a figure against the previous period. */
export function Change({ now, before, good, isShare = false }: ChangeProps) {
  const { t } = useTranslation('overview');
  const { percent, points } = useNumberFormats();
  if (now === null || before === null || (before === 0 && !isShare)) return null;
  const change = isShare ? now - before : (now - before) / before;
  const size = isShare ? points(Math.abs(change)) : percent(Math.abs(change));
  const direction = size === (isShare ? points(0) : percent(0)) ? 'none' : change > 0 ? 'up' : 'down';
  const Icon = { none: Minus, up: ArrowUp, down: ArrowDown }[direction];
  return (
    <span className={classes['change']} data-tone={toneOf(direction, good)}>
      <Icon size={13} strokeWidth={2.5} aria-hidden />
      <span aria-hidden>{size}</span>
      <VisuallyHidden>{t(`change.${direction}`, { size })}</VisuallyHidden>
    </span>
  );
}

const toneOf = (direction: 'none' | 'up' | 'down', good: GoodDirection): 'good' | 'bad' | 'quiet' =>
  direction === 'none' || good === 'neither' ? 'quiet' : direction === good ? 'good' : 'bad';
