import { PERMISSIONS } from '../../src/accounts/permission.ts';
import { choice, integer, list, object, optional, plainText, reply } from '../../src/http/fields.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { approvalOr } from './approvals.ts';
import { define } from './definition.ts';

/** API keys. */

const shownTraits = {
  id: reply.text('Id'),
  name: reply.text('Name'),
  description: reply.text('Description'),
  prefix: reply.text('Readable beginning of the key'),
  permissions: reply.list(reply.word(PERMISSIONS, 'One'), 'What it may do'),
  state: reply.word(
    ['active', 'ending', 'expired', 'revoked', 'altered'] as const,
    'ending: rotated, and works until the overlap ends. altered: changed in the database itself, so refused; it can only be revoked, and what is shown of it is not what was set',
  ),
  successor: reply.nullableText('Id of the key that replaces it'),
  created_at: reply.time('When it was made'),
  expires_at: reply.nullableTime('When it ends'),
  revoked_at: reply.nullableTime('When it was revoked'),
  last_used_at: reply.nullableTime('When it was used last, within a minute'),
  revision: reply.integer('Goes along with a change, so that two people do not undo each other'),
};

const listedKey = object({
  ...shownTraits,
  networks: reply.integer('From how many addresses and networks it may be used'),
});

const key = object({
  ...shownTraits,
  allow_list: reply.list(
    object({ cidr: reply.text('Address or network'), note: reply.text('Why it is there') }),
    'Where it may be used from',
  ),
});

const traits = {
  name: plainText(LIMITS.apiKeyNameCharacters, 'Name'),
  description: optional(plainText(LIMITS.apiKeyDescriptionCharacters, 'Description')),
  permissions: list(choice(PERMISSIONS, 'One'), { min: 1, max: PERMISSIONS.length }),
  allow_list: list(
    object({
      cidr: plainText(LIMITS.allowListNoteCharacters, 'Address or network'),
      note: optional(plainText(LIMITS.allowListNoteCharacters, 'Why it is there')),
    }),
    { min: 0, max: LIMITS.allowListEntries },
  ),
  expires_at: optional(plainText(LIMITS.timeCharacters, 'ISO 8601; absent: it does not end')),
};

const issued = object({ key, secret: reply.text('The key itself; shown this one time') });

const keys = '/api/accounts/:account/:environment/keys';

export const listKeys = define({
  method: 'GET',
  path: keys,
  access: 'keys:read',
  data: object({
    keys: reply.list(listedKey, 'All that work and the newest of the others, newest first'),
    /** To put into an allow-list. */
    your_address: reply.text('Where the caller comes from'),
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
  byTwo: 'key.create',
  longBody: true,
  body: object(traits),
  data: approvalOr(issued),
});

/** All traits as they are to be. */
export const editKey = define({
  method: 'POST',
  path: `${keys}/:id`,
  access: 'keys:write',
  stepUp: true,
  byTwo: 'key.edit',
  longBody: true,
  body: object({ ...traits, revision: integer({ min: 1, max: Number.MAX_SAFE_INTEGER }, 'As it was read') }),
  data: approvalOr(object({ key })),
});

export const rotateKey = define({
  method: 'POST',
  path: `${keys}/:id/rotate`,
  access: 'keys:write',
  stepUp: true,
  byTwo: 'key.rotate',
  body: object({ overlap_minutes: integer({ min: 0, max: LIMITS.overlapMinutes }, 'How long the old key stays good') }),
  data: approvalOr(issued),
});

/** Never waits for a second person: a key that leaked has to end at once. */
export const revokeKey = define({
  method: 'POST',
  path: `${keys}/:id/revoke`,
  access: 'keys:write',
  stepUp: true,
  evenSuspended: true,
  data: object({ key }),
});
