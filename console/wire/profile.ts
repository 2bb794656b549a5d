import { object, optional, output, plainText } from '../../src/http/fields.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { define, done } from './definition.ts';
import { code, credential, label, language, passkeyOptions, secret, session, totp } from './session.ts';

/** Calls about the user's own profile. */

export const showProfile = define({
  method: 'GET',
  path: '/api/profile',
  access: 'person',
  data: object({
    factors: output.list(
      object({
        id: output.text('Id'),
        kind: output.oneOf(['totp', 'passkey'] as const, 'Authenticator app, or passkey'),
        label: output.text('What the person calls a passkey; empty for an app'),
        created_at: output.time('When it was added'),
        last_used_at: output.nullableTime('When it was used last'),
      }),
      'Second factors',
    ),
    recovery_codes_left: output.integer('How many are unused'),
    sessions: output.list(
      object({
        id: output.text('Id'),
        is_current: output.bool('This one'),
        address: output.text('Where it was started from'),
        agent: output.text('The browser, as it calls itself'),
        created_at: output.time('When it was started'),
        last_active_at: output.time('When it was used last, within half a minute'),
      }),
      'Sessions, this one first',
    ),
  }),
});

export const editProfile = define({
  method: 'POST',
  path: '/api/profile',
  access: 'person',
  body: object({ name: optional(plainText(LIMITS.nameCharacters, 'Name')), language: optional(language) }),
  data: session,
});

/** Changes the address for sign-in; ends all other sessions. */
export const changeEmail = define({
  method: 'POST',
  path: '/api/profile/email',
  access: 'person',
  stepUp: true,
  body: object({ email: plainText(LIMITS.emailCharacters, 'E-mail address') }),
  data: session,
});

export const changePassword = define({
  method: 'POST',
  path: '/api/profile/password',
  access: 'person',
  stepUp: true,
  body: object({ current: secret('The present password'), password: secret('The new one') }),
  data: object({ done }),
});

export const beginTotp = define({
  method: 'POST',
  path: '/api/profile/totp/begin',
  access: 'person',
  stepUp: true,
  data: object({ totp }),
});

export const addTotp = define({
  method: 'POST',
  path: '/api/profile/totp',
  access: 'person',
  stepUp: true,
  body: object({ code }),
  data: object({ done }),
});

export const beginPasskey = define({
  method: 'POST',
  path: '/api/profile/passkeys/options',
  access: 'person',
  stepUp: true,
  data: passkeyOptions,
});

export const addPasskey = define({
  method: 'POST',
  path: '/api/profile/passkeys',
  access: 'person',
  stepUp: true,
  body: object({ credential, label }),
  data: object({ done }),
});

/** Renames a passkey. The authenticator app needs no name: there is one at most. */
export const renamePasskey = define({
  method: 'POST',
  path: '/api/profile/factors/:id',
  access: 'person',
  stepUp: true,
  body: object({ label }),
  data: object({ done }),
});

export const removeFactor = define({
  method: 'DELETE',
  path: '/api/profile/factors/:id',
  access: 'person',
  stepUp: true,
  data: object({ done }),
});

export const createRecoveryCodes = define({
  method: 'POST',
  path: '/api/profile/recovery-codes',
  access: 'person',
  stepUp: true,
  data: object({ recovery_codes: output.texts('Each is good once; those from before are not any more') }),
});

export const revokeSession = define({
  method: 'DELETE',
  path: '/api/profile/sessions/:id',
  access: 'person',
  data: object({ done }),
});

export const revokeOtherSessions = define({
  method: 'DELETE',
  path: '/api/profile/sessions',
  access: 'person',
  data: object({ done }),
});
