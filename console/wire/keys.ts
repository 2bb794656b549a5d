import { PERMISSIONS } from '../../src/accounts/permission.ts';
import { integer, list, object, oneOf, optional, output, plainText } from '../../src/http/fields.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { resultOrApproval } from './approvals.ts';
import { define } from './definition.ts';

/** API keys. */

const keyFields = {
  id: output.text('Id'),
  name: output.text('Name'),
  description: output.text('Description'),
  prefix: output.text('Readable beginning of the key'),
  permissions: output.list(output.oneOf(PERMISSIONS, 'One'), 'Permissions'),
  state: output.oneOf(
    ['active', 'ending', 'expired', 'revoked', 'altered'] as const,
    'ending: rotated, and works until the overlap ends. altered: changed in the database itself, so refused; it can only be revoked, and what is shown of it is not what was set',
  ),
  successor: output.nullableText('Id of the key that replaces it'),
  created_at: output.time('Time of creation'),
  expires_at: output.nullableTime('Expiry'),
  revoked_at: output.nullableTime('Time of the revocation'),
  last_used_at: output.nullableTime('Last use, within a minute'),
  revision: output.integer('Sent with a change, so that concurrent changes conflict'),
};

const listedKey = object({
  ...keyFields,
  networks: output.integer('Number of addresses and networks in the allow-list'),
});

const key = object({
  ...keyFields,
  allow_list: output.list(object({ cidr: output.text('Address or network'), note: output.text('Note') }), 'Allow-list'),
});

const attributes = {
  name: plainText(LIMITS.apiKeyNameCharacters, 'Name'),
  description: optional(plainText(LIMITS.apiKeyDescriptionCharacters, 'Description')),
  permissions: list(oneOf(PERMISSIONS, 'One'), { min: 1, max: PERMISSIONS.length }),
  allow_list: list(
    object({
      cidr: plainText(LIMITS.allowListNoteCharacters, 'Address or network'),
      note: optional(plainText(LIMITS.allowListNoteCharacters, 'Note')),
    }),
    { min: 0, max: LIMITS.allowListEntries },
  ),
  expires_at: optional(plainText(LIMITS.timeCharacters, 'ISO 8601; absent: no expiry')),
};

const issued = object({ key, secret: output.text('The key, which is shown once') });

const keys = '/api/accounts/:account/:environment/keys';

const listedKeys = object({
  keys: output.list(listedKey, 'Active keys and the newest of the others, newest first'),
  /** For the allow-list of a new key. */
  your_address: output.text('Address of the caller'),
});

export const listKeys = define({ method: 'GET', path: keys, access: 'keys:read', data: listedKeys });

/** A search text may be a card number by mistake, so it is sent in the body and not in the URL. */
export const searchKeys = define({
  method: 'POST',
  path: `${keys}/search`,
  access: 'keys:read',
  allowedWhileSuspended: true,
  body: object({
    text: plainText(LIMITS.searchCharacters, 'Part of the name, prefix, description, or of an address or note'),
  }),
  data: listedKeys,
});

export const showKey = define({
  method: 'GET',
  path: `${keys}/:id`,
  access: 'keys:read',
  data: object({ key }),
});

export const createKey = define({
  method: 'POST',
  path: keys,
  access: 'keys:write',
  stepUp: true,
  dualControl: 'key.create',
  largeBody: true,
  body: object(attributes),
  data: resultOrApproval(issued),
});

/** Sets all attributes of a key. */
export const editKey = define({
  method: 'POST',
  path: `${keys}/:id`,
  access: 'keys:write',
  stepUp: true,
  dualControl: 'key.edit',
  largeBody: true,
  body: object({ ...attributes, revision: integer({ min: 1, max: Number.MAX_SAFE_INTEGER }, 'Value that was read') }),
  data: resultOrApproval(object({ key })),
});

export const rotateKey = define({
  method: 'POST',
  path: `${keys}/:id/rotate`,
  access: 'keys:write',
  stepUp: true,
  dualControl: 'key.rotate',
  body: object({
    overlap_minutes: integer({ min: 0, max: LIMITS.overlapMinutes }, 'Overlap, during which the old key is valid'),
  }),
  data: resultOrApproval(issued),
});

/** Needs no approval: a leaked key has to be revoked immediately. */
export const revokeKey = define({
  method: 'POST',
  path: `${keys}/:id/revoke`,
  access: 'keys:write',
  stepUp: true,
  allowedWhileSuspended: true,
  data: object({ key }),
});
