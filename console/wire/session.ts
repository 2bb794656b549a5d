import { STATUSES } from '../../src/accounts/account.ts';
import { anyObject, anyText, type Field, object, oneOf, optional, output, plainText } from '../../src/http/fields.ts';
import { ENVIRONMENTS } from '../../src/kernel/environment.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { CAPABILITIES, ROLE_NAMES } from '../people/roles.ts';
import { type Access, define, done, orNull } from './definition.ts';

/** Sign-in, enrollment by invitation, and step-up. */

export const LANGUAGES = ['en', 'es'] as const;

export const secret = (description: string) => anyText(LIMITS.passwordCharacters, description);
/** A code of an authenticator app, or a recovery code. */
export const code = anyText(LIMITS.signInCodeCharacters, 'Six digits of an authenticator app, or a recovery code');
export const label = plainText(LIMITS.factorLabelCharacters, 'Name of the passkey');
export const language = oneOf(LANGUAGES, 'Language of the console');
const email = plainText(LIMITS.emailCharacters, 'Email address');
/** PublicKeyCredential in the JSON form of WebAuthn. */
export const credential = anyObject('PublicKeyCredential as JSON');
export const passkeyOptions = object({ options: output.json('Options for the browser') });

const csrfToken = output.text('Sent with every change, in the header x-csrf-token');

const membership = object({
  account: output.text('Id of the account'),
  name: output.text('Name of the account'),
  status: output.oneOf(STATUSES, 'Status'),
  role: output.oneOf(ROLE_NAMES, 'Role of the user'),
  capabilities: output.list(output.oneOf(CAPABILITIES, 'One'), 'Capabilities of the user'),
  dual_control: output.bool('Changes in production need two-person approval'),
});

export const session = object({
  person: object({
    id: output.text('Id of the user'),
    name: output.text('Name'),
    email: output.text('Email address'),
    language: output.oneOf(LANGUAGES, 'Language of the console'),
    time_zone: output.text('Name of the IANA database; browser: that of the browser'),
  }),
  is_operator: output.bool('The user is an operator'),
  memberships: output.list(membership, 'Memberships'),
  csrf_token: csrfToken,
  idle_seconds: output.integer('Inactivity after which the session expires'),
  expires_at: output.time('Absolute expiry'),
  stepped_up_until: output.nullableTime('Until when sensitive actions need no further confirmation'),
});

/** Returns the options of a passkey ceremony; the session stores their challenge. */
const passkeyChallenge = (path: string, access: Access) =>
  define({ method: 'POST', path, access, data: passkeyOptions });

/** Verifies something of the user; returns the session from then on. */
const sessionCall = <Body>(path: string, access: Access, body: Field<Body>) =>
  define({ method: 'POST', path, access, body, data: session });

/** Returns the stage of the browser's session. */
export const showSession = define({
  method: 'GET',
  path: '/api/session',
  access: 'public',
  data: object({
    stage: output.oneOf(['signed-out', 'password-given', 'enrolling', 'signed-in'] as const, 'Stage of the sign-in'),
    methods: output.list(output.oneOf(['totp', 'passkey', 'recovery'] as const, 'One'), 'Available second factors'),
    csrf_token: output.nullableText('For the next step, at any stage; null without a session'),
    session: orNull(session),
    environments: output.list(
      object({ name: output.oneOf(ENVIRONMENTS, 'One'), url: output.text('Base address') }),
      'Addresses of the interface',
    ),
    authority: output.nullableText('CA certificate for clients to trust, PEM; null with a certificate of the operator'),
    version: output.text('Version of the service'),
  }),
});

export const signIn = define({
  method: 'POST',
  path: '/api/sign-in',
  access: 'public',
  body: object({ email, password: secret('Password') }),
  data: object({
    methods: output.list(
      output.oneOf(['totp', 'passkey', 'recovery'] as const, 'One'),
      'Second factors of the next step',
    ),
    csrf_token: csrfToken,
  }),
});

export const signInByCode = sessionCall('/api/sign-in/code', 'signing-in', object({ code }));

export const beginPasskeySignIn = passkeyChallenge('/api/sign-in/passkey/options', 'signing-in');

export const signInByPasskey = sessionCall('/api/sign-in/passkey', 'signing-in', object({ credential }));

/** A passkey without email and password: the browser offers those that it has for this site. */
export const beginPasskeyOnly = passkeyChallenge('/api/sign-in/passkey-alone/options', 'public');

export const signInByPasskeyOnly = sessionCall('/api/sign-in/passkey-alone', 'public', object({ credential }));

/** Works at any stage, and without a session; a session needs its CSRF token. */
export const signOut = define({
  method: 'POST',
  path: '/api/sign-out',
  access: 'public',
  provesSession: true,
  data: object({ done }),
});

const invitation = secret('The secret of the link, behind its #');

export const showInvitation = define({
  method: 'POST',
  path: '/api/invitations/show',
  access: 'public',
  body: object({ invitation }),
  data: object({
    kind: output.oneOf(['invite', 'reset'] as const, 'Invitation, or credential reset'),
    account_name: output.nullableText('Account; null for operators'),
    role: orNull(output.oneOf(ROLE_NAMES, 'Role in the account')),
    email: output.nullableText('Email address of the recipient; null when the user enters it'),
    is_known: output.bool('The user exists, and accepts after sign-in'),
    expires_at: output.time('Expiry of the link'),
  }),
});

export const totp = object({
  secret: output.text('Base32'),
  uri: output.text('otpauth address, for a QR code'),
});

/** Begins the enrollment of a new user or of a credential reset with the password. */
export const enroll = define({
  method: 'POST',
  path: '/api/enrollment',
  access: 'public',
  body: object({
    invitation,
    name: optional(plainText(LIMITS.nameCharacters, 'Name of a new user')),
    email: optional(email),
    password: secret('New password'),
    language: optional(language),
  }),
  data: object({ totp, csrf_token: csrfToken }),
});

const completedEnrollment = object({
  recovery_codes: output.texts('Each is valid once, and shown once'),
  session,
});

export const enrollByTotp = define({
  method: 'POST',
  path: '/api/enrollment/totp',
  access: 'enrolling',
  body: object({ code }),
  data: completedEnrollment,
});

export const beginPasskeyEnrollment = passkeyChallenge('/api/enrollment/passkey/options', 'enrolling');

export const enrollByPasskey = define({
  method: 'POST',
  path: '/api/enrollment/passkey',
  access: 'enrolling',
  body: object({ credential, label: optional(label) }),
  data: completedEnrollment,
});

/** Makes a signed-in user a member of another account. */
export const acceptInvitation = sessionCall('/api/memberships', 'person', object({ invitation }));

/** Steps up with a second factor, for five minutes. */
export const stepUpByCode = sessionCall('/api/step-up/code', 'person', object({ code }));

export const beginPasskeyStepUp = passkeyChallenge('/api/step-up/passkey/options', 'person');

export const stepUpByPasskey = sessionCall('/api/step-up/passkey', 'person', object({ credential }));
