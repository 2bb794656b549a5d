import { STATUSES } from '../../src/accounts/account.ts';
import { anyObject, anyText, object, oneOf, optional, output, plainText } from '../../src/http/fields.ts';
import { ENVIRONMENTS } from '../../src/kernel/environment.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { CAPABILITIES, ROLE_NAMES } from '../people/roles.ts';
import { define, done, orNull } from './definition.ts';

/** Signing in, joining by invitation, and confirming who one is. */

export const LANGUAGES = ['en', 'es'] as const;

export const secret = (description: string) => anyText(LIMITS.passwordCharacters, description);
/** Of an authenticator app, or a recovery code. */
export const code = anyText(LIMITS.signInCodeCharacters, 'Six digits of an authenticator app, or a recovery code');
export const label = plainText(LIMITS.factorLabelCharacters, 'What the person calls it');
export const language = oneOf(LANGUAGES, 'Language of the console');
const email = plainText(LIMITS.emailCharacters, 'E-mail address');
/** As the browser makes and reads it (WebAuthn, JSON forms). */
export const credential = anyObject('PublicKeyCredential as JSON');
export const passkeyOptions = object({ options: output.json('Options for the browser') });

const csrfToken = output.text('Goes along with every change, in the header x-csrf-token');

const membership = object({
  account: output.text('Id of the account'),
  name: output.text('Its name'),
  status: output.oneOf(STATUSES, 'How far it is'),
  role: output.oneOf(ROLE_NAMES, 'What the person is there'),
  capabilities: output.list(output.oneOf(CAPABILITIES, 'One'), 'What the person may do there'),
  dual_control: output.bool('Changes in production take two people'),
});

export const session = object({
  person: object({
    id: output.text('Id of the person'),
    name: output.text('Name'),
    email: output.text('E-mail address'),
    language: output.oneOf(LANGUAGES, 'Language of the console'),
  }),
  is_operator: output.bool('Looks after the service'),
  memberships: output.list(membership, 'Accounts that the person belongs to'),
  csrf_token: csrfToken,
  idle_seconds: output.integer('After so long without a call the session ends'),
  ends_at: output.time('When it ends whatever happens'),
  stepped_up_until: output.nullableTime('Until when sensitive actions need no further confirmation'),
});

/** How far the browser is: nobody, a password was given, an invitation is being followed, signed in. */
export const showSession = define({
  method: 'GET',
  path: '/api/session',
  access: 'public',
  data: object({
    stage: output.oneOf(['nobody', 'password-given', 'enrolling', 'signed-in'] as const, 'How far the sign-in is'),
    methods: output.list(
      output.oneOf(['totp', 'passkey', 'recovery'] as const, 'One'),
      'Second factors to choose from',
    ),
    csrf_token: output.nullableText('For the next step, whatever the stage; null for nobody'),
    session: orNull(session),
    environments: output.list(
      object({ name: output.oneOf(ENVIRONMENTS, 'One'), url: output.text('Base address of the interface there') }),
      'Where the interface is served',
    ),
    authority: output.nullableText(
      'Certificate for clients to trust, PEM; null where the operator brought one of their own',
    ),
    version: output.text('Version of the service'),
  }),
});

export const signIn = define({
  method: 'POST',
  path: '/api/sign-in',
  access: 'public',
  body: object({ email, password: secret('Password') }),
  data: object({
    methods: output.list(output.oneOf(['totp', 'passkey', 'recovery'] as const, 'One'), 'To go on with'),
    csrf_token: csrfToken,
  }),
});

export const signInByCode = define({
  method: 'POST',
  path: '/api/sign-in/code',
  access: 'signing-in',
  body: object({ code }),
  data: session,
});

export const beginPasskeySignIn = define({
  method: 'POST',
  path: '/api/sign-in/passkey/options',
  access: 'signing-in',
  data: passkeyOptions,
});

export const signInByPasskey = define({
  method: 'POST',
  path: '/api/sign-in/passkey',
  access: 'signing-in',
  body: object({ credential }),
  data: session,
});

/** A passkey alone, without e-mail address and password: the browser offers those that it has for this site. */
export const beginPasskeyOnly = define({
  method: 'POST',
  path: '/api/sign-in/passkey-alone/options',
  access: 'public',
  data: passkeyOptions,
});

export const signInByPasskeyOnly = define({
  method: 'POST',
  path: '/api/sign-in/passkey-alone',
  access: 'public',
  body: object({ credential }),
  data: session,
});

/** At any stage, with the token of the session if there is one; nobody signs out in vain. */
export const signOut = define({ method: 'POST', path: '/api/sign-out', access: 'public', data: object({ done }) });

const invitation = secret('The secret of the link, behind its #');

export const showInvitation = define({
  method: 'POST',
  path: '/api/invitations/look',
  access: 'public',
  body: object({ invitation }),
  data: object({
    kind: output.oneOf(['invite', 'reset'] as const, 'To join, or to have a new password and second factor'),
    account_name: output.nullableText('Account to join; null for operators'),
    role: orNull(output.oneOf(ROLE_NAMES, 'Role there')),
    email: output.nullableText('Whom it is for; null when the person is to say'),
    is_known: output.bool('The person has a sign-in already, and accepts once signed in'),
    expires_at: output.time('When the link ends'),
  }),
});

export const totp = object({
  secret: output.text('Base32'),
  uri: output.text('otpauth address, for a QR code'),
});

/** A new person, or one whose password and second factor are replaced: password first. */
export const enroll = define({
  method: 'POST',
  path: '/api/joining',
  access: 'public',
  body: object({
    invitation,
    name: optional(plainText(LIMITS.nameCharacters, 'Name; needed by who is new')),
    email: optional(email),
    password: secret('The new password'),
    language: optional(language),
  }),
  data: object({ totp, csrf_token: csrfToken }),
});

const completedEnrollment = object({
  recovery_codes: output.texts('Each is good once; shown this one time'),
  session,
});

export const enrollByTotp = define({
  method: 'POST',
  path: '/api/joining/totp',
  access: 'enrolling',
  body: object({ code }),
  data: completedEnrollment,
});

export const beginPasskeyEnrollment = define({
  method: 'POST',
  path: '/api/joining/passkey/options',
  access: 'enrolling',
  data: passkeyOptions,
});

export const enrollByPasskey = define({
  method: 'POST',
  path: '/api/joining/passkey',
  access: 'enrolling',
  body: object({ credential, label: optional(label) }),
  data: completedEnrollment,
});

/** Somebody who is signed in joins another account. */
export const acceptInvitation = define({
  method: 'POST',
  path: '/api/memberships',
  access: 'person',
  body: object({ invitation }),
  data: session,
});

/** Confirms with the second factor again; holds for some minutes. */
export const stepUpByCode = define({
  method: 'POST',
  path: '/api/step-up/code',
  access: 'person',
  body: object({ code }),
  data: session,
});

export const beginPasskeyStepUp = define({
  method: 'POST',
  path: '/api/step-up/passkey/options',
  access: 'person',
  data: passkeyOptions,
});

export const stepUpByPasskey = define({
  method: 'POST',
  path: '/api/step-up/passkey',
  access: 'person',
  body: object({ credential }),
  data: session,
});
