/** Formats a user with name and address, because names are not unique. */
export const formatPersonLabel = (name: string | null | undefined, email: string | null | undefined): string =>
  email === null || email === undefined ? (name ?? '') : `${name ?? ''} (${email})`;
