import { hash } from 'node:crypto';

/** What POST /proxy/hash takes as `type` (interface: Limits 4). */
export const HASH_TYPES = ['SHA256', 'SHA384', 'SHA512'] as const;

export type HashType = (typeof HASH_TYPES)[number];

/** Base64 of the raw digest. */
export const computeHash = (type: HashType, bytes: Uint8Array): string => hash(type.toLowerCase(), bytes, 'base64');
