import type { ReactNode } from 'react';
import classes from './details.module.css';

type Item = { readonly value: ReactNode } & (
  | { readonly label: string }
  // Each unlike all others here.
  | { readonly label: ReactNode; readonly name: string }
);

interface DetailsProps {
  /** What is undefined is left out. */
  readonly items: readonly (Item | undefined)[];
}

/** Names and values of one record. */
export function Details({ items }: DetailsProps) {
  return (
    <dl className={classes['list']}>
      {items.map(
        (item) =>
          item && (
            <div key={'name' in item ? item.name : item.label} className={classes['item']}>
              <dt>{item.label}</dt>
              <dd>{item.value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}
