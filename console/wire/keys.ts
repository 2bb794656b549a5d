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
  permissions: output.list(output.oneOf(PERMISSIONS, 'One'), 'What it may do'),
  state: output.oneOf(
    ['active', 'ending', 'expired', 'revoked', 'altered'] as const,
    'ending: rotated, and works until the overlap ends. altered: changed in the database itself, so refused; it can only be revoked, and what is shown of it is not what was set',
  ),
  successor: output.nullableText('Id of the key that replaces it'),
  created_at: output.time('When it was made'),
  expires_at: output.nullableTime('When it ends'),
  revoked_at: output.nullableTime('When it was revoked'),
  last_used_at: output.nullableTime('When it was used last, within a minute'),
  revision: output.integer('Goes along with a change, so that two people do not undo each other'),
};

const listedKey = object({
  ...keyFields,
  networks: output.integer('From how many addresses and networks it may be used'),
});

const key = object({
  ...keyFields,
  allow_list: output.list(
    object({ cidr: output.text('Address or network'), note: output.text('Why it is there') }),
    'Where it may be used from',
  ),
});

const attributes = {
  name: plainText(LIMITS.apiKeyNameCharacters, 'Name'),
  description: optional(plainText(LIMITS.apiKeyDescriptionCharacters, 'Description')),
  permissions: list(oneOf(PERMISSIONS, 'One'), { min: 1, max: PERMISSIONS.length }),
  allow_list: list(
    object({
      cidr: plainText(LIMITS.allowListNoteCharacters, 'Address or network'),
      note: optional(plainText(LIMITS.allowListNoteCharacters, 'Why it is there')),
    }),
    { min: 0, max: LIMITS.allowListEntries },
  ),
  expires_at: optional(plainText(LIMITS.timeCharacters, 'ISO 8601; absent: it does not end')),
};

const issued = object({ key, secret: output.text('The key itself; shown this one time') });

const keys = '/api/accounts/:account/:environment/keys';

export const listKeys = define({
  method: 'GET',
  path: keys,
  access: 'keys:read',
  data: object({
    keys: output.list(listedKey, 'All that work and the newest of the others, newest first'),
    /** For the allow-list of a new key. */
    your_address: output.text('Where the caller comes from'),
  }),
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
  body: object({ ...attributes, revision: integer({ min: 1, max: Number.MAX_SAFE_INTEGER }, 'As it was read') }),
  data: resultOrApproval(object({ key })),
});

export const rotateKey = define({
  method: 'POST',
  path: `${keys}/:id/rotate`,
  access: 'keys:write',
  stepUp: true,
  dualControl: 'key.rotate',
  body: object({ overlap_minutes: integer({ min: 0, max: LIMITS.overlapMinutes }, 'How long the old key stays good') }),
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
