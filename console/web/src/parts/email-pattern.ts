/** Rough check of an email address; the service validates it. */
export const EMAIL_PATTERN = /^[^\s@]+@[^\s@]+$/;
