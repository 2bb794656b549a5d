/** Permissions of a key (decisions: Permissions). */
export const PERMISSIONS = [
  'tokens:create',
  'tokens:inspect',
  'tokens:delete',
  'tokens:detokenize',
  'captures:create',
  'captures:retrieve',
  'captures:inspect',
  'captures:tokenize',
  'captures:delete',
  'payments:write',
  'payments:read',
  'proxy:use',
  'account:read',
  'webhooks:manage',
] as const;

export type Permission = (typeof PERMISSIONS)[number];

export const isPermission = (text: string): text is Permission => (PERMISSIONS as readonly string[]).includes(text);
