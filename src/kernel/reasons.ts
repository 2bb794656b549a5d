/**
 * The closed catalogue of reasons: why a request was rejected, what a setting accepts, and what is wrong with the audit log. The
 * English here is the text of the API and the command line; the console has its own sentence for each reason in every
 * language (`console/web/src/text/LANGUAGE/reasons.ts`). A placeholder names a value.
 */
export const REASONS = {
  // Values of requests, for every folder.
  required: 'required',
  expectedObject: 'expected an object',
  expectedArray: 'expected an array',
  expectedString: 'expected a string',
  expectedBoolean: 'expected true or false',
  expectedUtf8: 'expected UTF-8 text',
  entries: 'expected {min} to {max} entries',
  allowListEntries: 'an allow-list has at most {max} entries',
  plainCharacters: 'expected a string of {min} to {max} characters without control characters',
  stringCharacters: 'expected a string of {min} to {max} characters',
  characters: 'expected {min} to {max} characters',
  choice: 'expected one of {words}',
  environmentChoice: 'expected {words}',
  literal: 'expected "{words}"',
  integer: 'expected an integer of {min} to {max}',
  future: 'expected a time in the future',
  order: 'expected a time behind from',
  period: 'expected {days} days behind from at most',
  time: 'expected a time',
  isoTime: 'expected ISO 8601 with a zone, as 2027-01-31T00:00:00Z',
  settingTwice: 'expected each setting once',
  address: 'expected an address or CIDR network, as 203.0.113.7 or 2001:db8::/32',
  currency: 'expected a code of ISO 4217',
  isoCurrency: 'expected an ISO 4217 currency code',
  currencyNeeded: 'required with an amount',
  amount:
    'expected an amount above 0 with at most {digits} digits before the point and no more places than the currency has',
  amountCurrency: 'expected the currency of the payment',
  amountTooMuch: 'more than is left of the payment',
  amountWhole: 'this processor captures in full only',
  fourDigits: 'expected 4 digits',
  sixDigits: 'expected 6 or 8 digits',
  token: 'expected a token',
  tag: 'expected a tag',
  action: 'expected an action, or the beginning of some, as key.',
  cursor: 'expected the cursor of a page',

  // People and their sign-in.
  email: 'expected an e-mail address',
  noCard: 'expected no card number',
  plainLetters: 'expected letters in their plain form',
  oneScript: 'expected letters of one script',
  role: 'expected a role of the account',
  samePassword: 'this is the present password; choose a different one',
  signInAltered: 'The sign-in record was changed in the database. Reset the sign-in.',
  weakPassword: 'expected a password that is harder to guess: longer, or less usual',
  appCode: 'expected the code that the app shows now',

  // Keys and certificates.
  publicKey: 'expected an RSA public key: PEM, DER, JWK or certificate',
  privateKey: 'expected an RSA private key: PEM, DER or JWK',
  certificate: 'expected an X.509 certificate: PEM or DER',
  rsa: 'expected an RSA key (rsaEncryption)',
  keyBits: 'expected an RSA key of {min} to {max} bits, this one has {bits}',
  keyExponent: 'the public exponent of the RSA key must be odd, from {min} to 2^32',
  keyBytes: 'a key has at most {max} bytes',
  keyIsPrivate: 'this is a private key; expected a public one',
  passphraseNeeded: 'the private key is encrypted: its passphrase is needed',
  passphraseWrong: 'the private key cannot be read, its passphrase is another one, or it takes too much work to open',
  pkcs12: 'this is PKCS#12; turn its key into PEM first: openssl pkcs12 -in FILE -nocerts -nodes',
  publicKeyDamaged: 'the public key is damaged: it does not encrypt',
  privateKeyDamaged: 'the private key is damaged: its signature does not verify',
  certificateInUseEnds: 'the merchant certificate in use ends before the overlap does',
  certificateAlone: 'a certificate needs its private key: give both',
  certificateWaits: 'another key waits already: a certificate cannot wait beside it',
  certificateOfOther: 'the merchant certificate belongs to another private key',
  certificateTimes: 'the times of the {whose} certificate are malformed',
  certificateExpired: 'the {whose} certificate has expired',
  certificateEndsBefore: 'the {whose} certificate ends before it comes into use',
  certificateEarly: 'the {whose} certificate is not valid yet',

  // Settings and processors.
  nothingToChange: 'There is nothing to change: give a key, a certificate or a setting.',
  proxyEmpty: 'there is no such configuration',
  settingUnknown: 'setting {number} does not exist; there are {names}',
  settingsMissing: 'missing: {names}',
  usernameNeedsPassword: 'wssec.username needs wssec.password',
  mleNeedsJwt: 'mle-certificate: goes with auth=jwt only',
  hostNotAllowed:
    '{name}: not a host that {processor} documents for production; list HOST:PORT in CARDVAULT_PROCESSOR_HOSTS of this process and of every node that serves',
  setting: '{name}: expected {expected}',
  processorNeeded: 'which processor? give --processor',
  processorUnknown: 'there is no such processor; there are {names}',
  sadErased: 'erase-sad: production always erases security codes and track data; set it to true',
  simulatorInProduction: 'the simulator moves no money; to have it in production nevertheless, add --force',
  paymentsOff: 'payments are not enabled there',
  paymentsOffHere: 'Payments are not enabled for this account in this environment.',
  requestWaits: 'A request for this environment waits already.',
  sameMoment: 'somebody else changed this at the same moment; try again',

  // Accounts and API keys.
  accountUnknown: 'there is no such account; see: cardvault account list',
  accountSuspended: 'The account is suspended.',
  accountSuspendedAlready: 'the account is suspended already',
  accountNotSuspended: 'the account is not suspended',
  accountAltered:
    'the account was altered in the database; check it, then run: cardvault account suspend ID --name NAME',
  accountNotAltered: 'the account was not altered in the database: suspend it without a name',
  keyUnknown: 'there is no such key; see: cardvault key list',
  keyRotated: 'the key was rotated already; rotate {successor}',
  keyExpired: 'the key has expired; make a new one',
  keyAltered: 'the key was altered in the database: it can only be revoked; revoke it and create a new one',
  keyRevokedAlready: 'the key is revoked already',
  keyRevoked: 'the key is revoked; make a new one',
  keysFull:
    '{working} keys of an environment work at once at most, and {made} are made in 24 hours; revoke keys that are not needed any more',
  damaged: 'The record cannot be opened: it was changed in the database.',

  // Approvals.
  tooLongToWait: 'This is too long to wait for approval. Do it in parts.',
  tooManyWait: 'Too many changes wait for approval already.',
  nobodyApproves: 'Nobody else in this account may approve this. An operator can invite an owner.',
  otherDecides: 'Somebody else has to decide this.',
  askerOnly: 'Only who asked for this can do that.',
  changeGone: 'This change does not exist any more.',
  cameLater:
    'This was asked for before you came, or before you had your present second factor. Have it asked for again.',
  approverGone: 'Who approved this may not do so any more. Ask for it again.',
  twoNeeded: 'This takes two people who may approve changes. Invite an owner or a developer first.',

  // Users.
  verifying: 'The audit log is being verified already; try again when that has ended.',
  emailIsHere: 'Somebody with this e-mail address is here already. Sign in, and open the link again.',
  emailTaken: 'Somebody with this e-mail address is here already.',
  emailIsMember: 'Somebody with this e-mail address is a member already.',
  member: 'You are a member already.',
  peopleFull: 'An account has {number} people at most, with those who are invited; remove some first.',
  invitations: 'There are {number} open invitations already; revoke some first.',
  linkBad: 'This link was used or revoked, or is too old. Ask for a new one.',
  linkForPassword: 'This link is for a new password. Sign out, and open it again.',
  linkForOther: 'This invitation is for somebody else.',
  passkeyFailed: 'The passkey could not be made. Try again.',
  passkeysFull: 'You have {number} passkeys; remove one first.',
  noPasskey: 'You have no passkey.',
  lastFactor: 'This is your last second factor; add another one first.',
  lastOwner: 'This is the last owner; make somebody else one first.',
  lastOperator: 'This is the last operator; make somebody else one first.',

  // Payments.
  paymentBusy: 'operation in progress: the payment waits for the end of another one',
  paymentOperations: 'the payment has had too many operations',
  paymentRefunded: 'the payment is refunded in full',

  // What a setting accepts.
  valueDuration: '1s to {days}d, as 30s, 15m, 24h or 7d',
  valueWholeNumber: 'a whole number of {min} to {max}',
  valueChoice: 'one of {words}',
  valueUrl: 'an https: URL without user, query and fragment (http: for loopback addresses only)',
  valueCharacters: '{min} to {max} characters without control characters',
  valueOfCharacters: '{min} to {max} of A-Z a-z 0-9 {signs}',
  valueSharedSecret: 'base64 as CyberSource shows it, of 12 bytes at least',
  valueCertificate: 'base64 of the DER of a certificate for RSA, on one line, whose subject has a serialNumber',
  valueVisible: 'visible ASCII without blanks',
  valueVisibleUpTo: 'up to {max} visible ASCII characters',
  valueFourDigits: 'four digits',
  valueCountry: 'two capital letters (ISO 3166)',

  // Audit verification.
  logRegisterMissing: 'the register of lanes is missing',
  logRegisterSeal: 'the seal of the register of lanes is not ours',
  logRegisterEmpty: 'the register of lanes is empty',
  logUnregistered: '{place}: the lane was never registered',
  logOtherBeginning: '{place}: the first record is not the registered one',
  logUnannounced: '{place}: the chain was never announced',
  logNoAnnouncer: '{place}: the chain that announces the others is missing',
  logAnnouncedTwice: '{place}: the chain was announced twice',
  logGone: '{place}: the chain was announced and is missing',
  logSeal: '{place}: the seal of record {record} is not ours',
  logMissing: '{place}: missing',
  logChanged: '{place}: changed',
  logUnsealed: '{place}: {records} records, of which the head seals {sealed}',
  logUnreadable: 'a row cannot be read: {problem}',
  invisibleCharacters: 'contains invisible characters; remove them',

  // Places in the audit log.
  placeRecord: 'lane {lane}, record {record}',
  placeLane: 'lane {lane}',
  placeAccountRecord: 'account {account}, lane {lane}, record {record}',
  placeAccountLane: 'account {account}, lane {lane}',
  placeNoAccountRecord: 'an account that is none, lane {lane}, record {record}',
  placeNoAccountLane: 'an account that is none, lane {lane}',
} as const;

export type Reason = keyof typeof REASONS;

/** A limit, a name of a closed list, a place, or another reason; never input. */
export type Value = string | number | Explanation;
export type Values = Readonly<Record<string, Value>>;

/** A reason with its values: all that a reader in any language needs. */
export interface Explanation {
  readonly reason: Reason;
  readonly values: Values;
}

type Placeholders<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Placeholders<Rest>
  : never;

/** The values that a reason takes, read from its text. */
export type ValuesOf<R extends Reason> = { readonly [Name in Placeholders<(typeof REASONS)[R]>]: Value };

/** The values as arguments: none for a reason without placeholders. */
export type ValuesArgument<R extends Reason> =
  Placeholders<(typeof REASONS)[R]> extends never ? [values?: Record<string, never>] : [values: ValuesOf<R>];

export const explain = <R extends Reason>(reason: R, ...[values]: ValuesArgument<R>): Explanation => ({
  reason,
  values: values ?? {},
});

/** Returns the English text of a reason with its values. */
export const formatReason = (explanation: Explanation): string => fillText((reason) => REASONS[reason], explanation);

/** Returns the text of a reason in any language, with its values. */
export function fillText(textOf: (reason: Reason) => string, { reason, values }: Explanation): string {
  return textOf(reason).replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name] ?? '';
    return typeof value === 'object' ? fillText(textOf, value) : String(value);
  });
}
