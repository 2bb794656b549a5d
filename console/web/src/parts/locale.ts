/** The console speaks a language; dates and numbers follow the country that the browser is set to, where it has one for it. */
export const resolveLocale = (language: string): string =>
  navigator.languages.find((each) => each === language || each.startsWith(`${language}-`)) ?? language;
