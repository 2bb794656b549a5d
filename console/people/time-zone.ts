/** Time zone of a user whose times follow each browser. */
export const BROWSER_TIME_ZONE = 'browser';

/** Names of places follow daylight saving time; an offset such as `+05:00`, which begins with its sign, does not. */
const NAME = /^[A-Za-z][A-Za-z0-9_+/-]*$/;

/** True for a name of the IANA database that this runtime knows, such as `America/Bogota`. */
export function isTimeZone(name: string): boolean {
  if (!NAME.test(name)) return false;
  try {
    Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
