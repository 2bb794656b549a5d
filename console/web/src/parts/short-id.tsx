import classes from './short-id.module.css';

const HEAD_CHARACTERS = 8;
const TAIL_CHARACTERS = 4;

/** An id that is too long for its place: how it begins and ends, which is what people compare. */
export const shortenId = (id: string): string =>
  id.length <= HEAD_CHARACTERS + TAIL_CHARACTERS + 4
    ? id
    : `${id.slice(0, HEAD_CHARACTERS)}…${id.slice(-TAIL_CHARACTERS)}`;

/** The id of a row; the whole one is its title. */
export function ShortId({ id }: { readonly id: string }) {
  return (
    <span className={classes['id']} title={id}>
      {shortenId(id)}
    </span>
  );
}
