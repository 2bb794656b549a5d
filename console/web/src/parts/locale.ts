/**
 * Returns the browser's locale for the language of the console, so that dates and numbers follow the user's country.
 */
export const resolveLocale = (language: string): string =>
  navigator.languages.find((each) => each === language || each.startsWith(`${language}-`)) ?? language;
