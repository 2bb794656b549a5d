import classes from './short-id.module.css';

const FIRST = 8;
const LAST = 4;

/** An id that is too long for its place: how it begins and ends, which is what people compare. */
export const shortened = (id: string): string =>
  id.length <= FIRST + LAST + 4 ? id : `${id.slice(0, FIRST)}…${id.slice(-LAST)}`;

/** The id of a row; the whole one is its title. */
export function ShortId({ id }: { readonly id: string }) {
  return (
    <span className={classes['id']} title={id}>
      {shortened(id)}
    </span>
  );
}
