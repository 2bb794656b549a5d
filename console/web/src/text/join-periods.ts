/** Removes the period of a sentence behind the one of "a. m." or "p. m.", with which a Spanish time ends. */
export const joinPeriods = (text: string): string => text.replace(/\b([ap]\.\s?m\.)\./g, '$1');
