import classes from './decorative-text.module.css';

/** Shows letters as decoration, so that they are not part of the accessible name of a button. */
export function DecorativeText({ text }: { readonly text: string }) {
  return <span className={classes['letters']} data-letters={text} />;
}
