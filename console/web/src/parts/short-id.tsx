import classes from './short-id.module.css';

const HEAD_CHARACTERS = 8;
const TAIL_CHARACTERS = 4;

/** Shortens a long id to its beginning and end. */
export const shortenId = (id: string): string =>
  id.length <= HEAD_CHARACTERS + TAIL_CHARACTERS + 4
    ? id
    : `${id.slice(0, HEAD_CHARACTERS)}…${id.slice(-TAIL_CHARACTERS)}`;

/** Shows a shortened id with the full id as its title. */
export function ShortId({ id }: { readonly id: string }) {
  return (
    <span className={classes['id']} title={id}>
      {shortenId(id)}
    </span>
  );
}
