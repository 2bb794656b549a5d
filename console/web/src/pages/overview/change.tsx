import { VisuallyHidden } from '@mantine/core';
import { ArrowDown, ArrowUp, Minus } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useNumberFormats } from './number-formats.ts';
import classes from './overview.module.css';

/** Which way is the good one; neither where more is only more. */
export type GoodDirection = 'up' | 'down' | 'neither';

interface ChangeProps {
  /** Null: there was nothing to measure. */
  readonly now: number | null;
  readonly before: number | null;
  readonly good: GoodDirection;
  /** Shares are compared in points of a hundred, all else in parts of what was before. */
  readonly isShare?: boolean;
}

/** How a figure changed against the time before. */
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
