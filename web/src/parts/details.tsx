import type { ReactNode } from 'react';
import classes from './details.module.css';

interface DetailsProps {
  /** What is undefined is left out. */
  readonly items: readonly ({ readonly label: string; readonly value: ReactNode } | undefined)[];
}

/** Names and values of one record. */
export function Details({ items }: DetailsProps) {
  return (
    <dl className={classes['list']}>
      {items.map(
        (item) =>
          item && (
            <div key={item.label} className={classes['item']}>
              <dt>{item.label}</dt>
              <dd>{item.value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}
