import { anyText, object, optional, output, plainText } from '../../src/http/fields.ts';
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
        label: output.text('Name of a passkey; empty for an app'),
        created_at: output.time('Time at which it was added'),
        last_used_at: output.nullableTime('Last use'),
      }),
      'Second factors',
    ),
    recovery_codes_left: output.integer('Number of unused codes'),
    sessions: output.list(
      object({
        id: output.text('Id'),
        is_current: output.bool('The session of the caller'),
        address: output.text('Address at the sign-in'),
        agent: output.text('User agent'),
        created_at: output.time('Start'),
        last_active_at: output.time('Last use, within half a minute'),
      }),
      'Sessions, that of the caller first',
    ),
  }),
});

export const editProfile = define({
  method: 'POST',
  path: '/api/profile',
  access: 'person',
  body: object({
    name: optional(plainText(LIMITS.nameCharacters, 'Name')),
    language: optional(language),
    time_zone: optional(plainText(LIMITS.timeZoneCharacters, 'Name of the IANA database, or browser')),
  }),
  data: session,
});

/** Sends a code to an address that the user has changed to, and that is not confirmed. */
export const sendEmailCode = define({
  method: 'POST',
  path: '/api/profile/email/code',
  access: 'person',
  data: object({ done }),
});

/** Confirms the address, so that alerts go there by mail. */
export const confirmEmail = define({
  method: 'POST',
  path: '/api/profile/email/confirm',
  access: 'person',
  body: object({ code: anyText(LIMITS.signInCodeCharacters, 'The code of the mail') }),
  data: object({ done }),
});

/** Changes the address for sign-in; ends all other sessions. */
export const changeEmail = define({
  method: 'POST',
  path: '/api/profile/email',
  access: 'person',
  stepUp: true,
  body: object({ email: plainText(LIMITS.emailCharacters, 'Email address') }),
  data: session,
});

export const changePassword = define({
  method: 'POST',
  path: '/api/profile/password',
  access: 'person',
  stepUp: true,
  body: object({ current: secret('Present password'), password: secret('New password') }),
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
  data: object({ recovery_codes: output.texts('Each is valid once; they replace the earlier ones') }),
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
