import { hash } from 'node:crypto';

/** The values of `type` in POST /proxy/hash (interface: Limits 4). */
export const HASH_TYPES = ['SHA256', 'SHA384', 'SHA512'] as const;

export type HashType = (typeof HASH_TYPES)[number];

/** Returns the raw digest in base64. */
export const computeHash = (type: HashType, bytes: Uint8Array): string => hash(type.toLowerCase(), bytes, 'base64');
