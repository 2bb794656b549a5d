import classes from './decorative-text.module.css';

/** Letters that are a picture: who speaks to the browser need not say them to name the button they stand on. */
export function DecorativeText({ text }: { readonly text: string }) {
  return <span className={classes['letters']} data-letters={text} />;
}
