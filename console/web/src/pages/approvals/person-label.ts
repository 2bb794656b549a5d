/** Somebody by name and address, because anybody may take anybody's name. */
export const formatPersonLabel = (name: string | null | undefined, email: string | null | undefined): string =>
  email === null || email === undefined ? (name ?? '') : `${name ?? ''} (${email})`;
