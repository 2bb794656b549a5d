import type { ReactNode } from 'react';
import classes from './details.module.css';

type Item = { readonly value: ReactNode } & (
  | { readonly label: string }
  // Unique name of the item.
  | { readonly label: ReactNode; readonly name: string }
);

interface DetailsProps {
  /** Undefined items are skipped. */
  readonly items: readonly (Item | undefined)[];
}

/** Shows labels and values of one record. */
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
