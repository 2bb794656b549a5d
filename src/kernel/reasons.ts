import type { TextPosition } from './text-position.ts';

/**
 * The closed catalogue of reasons: why a request was rejected, what a setting accepts, and what is wrong with the audit log. The
 * English here is the text of the API and the command line. The console translates each reason, and words some of them
 * in other English (`console/web/src/text/LANGUAGE/reasons.ts`). A placeholder names a value.
 */
export const REASONS = {
  // Values of requests, for every folder.
  required: 'required',
  expectedObject: 'expected an object',
  expectedJsonObject: 'expected a JSON object',
  expectedArray: 'expected an array',
  expectedString: 'expected a string',
  expectedBoolean: 'expected true or false',
  expectedNumber: 'expected a number',
  expectedValue: 'expected a value',
  expectedSign: 'expected {sign}',
  expectedUtf8: 'expected UTF-8 text',
  notUtf8: 'malformed {format}: the body is not UTF-8',
  membersOnly: 'expected no other members than {names}',
  entries: 'expected {min} to {max} entries',
  allowListEntries: 'an allow-list has at most {max} entries',
  plainCharacters: 'expected a string of {min} to {max} characters without control characters',
  stringCharacters: 'expected a string of {min} to {max} characters',
  characters: 'expected {min} to {max} characters',
  choice: 'expected one of {words}',
  environmentChoice: 'expected {words}',
  literal: 'expected "{words}"',
  choiceOnce: 'expected one of {words}, given once',
  integer: 'expected an integer of {min} to {max}',
  integerFrom: 'expected an integer from {min}',
  capitals: 'expected three capital letters',
  future: 'expected a time in the future',
  order: 'expected a time after from',
  period: 'expected at most {days} days after from',
  time: 'expected a time',
  day: 'expected a day, as 2027-01-31',
  isoTime: 'expected ISO 8601 with a zone, as 2027-01-31T00:00:00Z',
  settingTwice: 'expected each setting once',
  address: 'expected an address or CIDR network, as 203.0.113.7 or 2001:db8::/32',
  currency: 'expected a code of ISO 4217',
  isoCurrency: 'expected an ISO 4217 currency code',
  amount:
    'expected an amount above 0 with at most {digits} digits before the point and no more places than the currency has',
  amountDecimal: 'expected an amount with at most {digits} digits before the point and 4 after it',
  amountOrder: 'expected an amount of at least amount_from',
  amountCurrency: 'expected the currency of the payment',
  amountTooMuch: 'more than is left of the payment',
  amountWhole: 'this processor captures in full only',
  fourDigits: 'expected 4 digits',
  token: 'expected a token',
  tag: 'expected a tag',
  action: 'expected an action, or the beginning of one, as key.',
  viewNameTaken: 'another saved view of this list has this name',
  cursor: 'expected the cursor of a page',
  asciiCharacters: 'expected {min} to {max} visible ASCII characters',
  bytesUpTo: 'expected at most {max} bytes',
  savedViews: 'You have {max} saved views already; delete one first.',
  outcomePending: 'The outcome of this request is not known yet; it is being resolved.',

  // Cards and captures.
  cardNumber: 'expected a card number of {min} to {max} digits',
  luhn: 'expected a card number that passes the Luhn check',
  securityCode: 'expected 3 or 4 digits',
  expiryShort: 'expected MM/YY',
  expiry: 'expected MM/YYYY or MM/YY',
  track2: 'expected track 2 data',
  contradicts: 'contradicts {field}',
  cardDataRequired: 'at least one of card, cvv and track_2 is required',
  keyReserved: 'the key {name} is reserved',
  eightDigitSchemes: 'works only with schemes {schemes}',

  // Malformed bodies.
  malformedJson: 'malformed JSON at character {character}: {problem}',
  malformedXml: 'malformed XML at line {line}: {problem}',
  jsonEnd: 'expected the end of the body',
  jsonKey: 'expected a key',
  jsonDuplicateKey: 'duplicate key',
  jsonColon: 'expected a colon',
  jsonComma: 'expected a comma or {close}',
  jsonUnterminated: 'unterminated string',
  jsonControlCharacter: 'control character in a string',
  jsonEscape: 'malformed escape',
  tooManyValues: 'more than {max} values',
  tooDeep: 'nested deeper than {max} levels',
  xmlDoctype: 'a DOCTYPE is not allowed',
  xmlProcessingInstruction: 'a processing instruction is not allowed',
  xmlEncoding: 'expected version 1.0 and encoding UTF-8',
  xmlDeclaration: 'malformed XML declaration',
  xmlDeclarationNotAtStart: 'an XML declaration not at the start',
  xmlReservedName: 'misuse of a reserved prefix or namespace',
  xmlUndeclaredPrefix: 'undeclared prefix',
  xmlUnboundPrefix: 'a prefix bound to no namespace',
  xmlUnknownEntity: 'unknown entity',
  xmlReference: 'malformed reference',
  xmlDuplicateAttribute: 'duplicate attribute',
  xmlNoEndTag: 'an element without an end tag',
  xmlNoStartTag: 'an end tag without its start tag',
  xmlManyRoots: 'more than one root element',
  xmlNoRoot: 'no root element',
  xmlTextOutside: 'text outside the root element',
  xmlCdataEnd: ']]> in text',
  xmlName: 'malformed name',
  xmlNotWellFormed: 'not well-formed',
  xmlTooManyNodes: 'more than {max} elements and attributes',
  xmlNamespaceLong: 'a namespace longer than {max} characters',
  xmlNamespace: 'a namespace must be an absolute URI of ASCII characters without &',
  xmlOneBody: 'expected one Body in the Envelope',
  xmlOneElement: 'expected one element in the Body',
  xmlCanonicalTooLong: 'malformed XML: too long in its canonical form',

  // Placeholders and the proxy.
  placeholder: 'placeholder {placeholder}: {problem}',
  placeholderSyntax: 'placeholder {placeholder}: {position}: {problem}',
  characterOfValue: 'character {character} of the value',
  characterOfLine: 'character {character} of the line',
  placeholdersUpTo: 'expected at most {max} placeholders',
  placeholderEnd: 'expected | or {end}',
  placeholderToken: 'expected a token, as {begin} begins a placeholder',
  placeholderWord: 'expected one of {words}',
  filterOrder: 'expected each filter once, extract before date before encrypt',
  cvvOfCaptures: 'cvv is a part of captures only',
  dateOfExpiration: 'date follows extract:expiration only',
  onePlaceholder: 'expected exactly one placeholder and nothing beside it',
  noFilters: 'takes no filters: the field decides the part',
  tokenWithoutCvv: 'a permanent token has no security code; expected a capture, {example}',
  tokenUnknown: 'no such token',
  captureUnknown: 'no such capture, or its ttl has ended',
  noCardNumber: 'the record has no card number',
  noExpiry: 'the record has no expiry',
  noName: 'the record has no name',
  noCvv: 'the record has no security code',
  valueNotWritable: 'the value cannot be written in this place',
  valueTooLong: 'the value is too long for the encryption key',
  encryptionType: 'expected RSA, RSA-OAEP or RSA-PKCS1',
  encryptionKey: 'expected an RSA public key of {min} bits or more, PEM or base64 of DER',
  processorKeyMissing: 'not configured for this account and environment: processor public key',
  merchantKeyMissing: 'not configured for this account and environment: merchant private key',
  keysMissing: 'not configured for this account and environment: processor public key and merchant private key',

  // People and their sign-in.
  email: 'expected an email address',
  noCard: 'expected no card number',
  plainLetters: 'expected letters in their plain form',
  oneScript: 'expected letters of one script',
  timeZone: 'expected a time zone of the IANA database, as America/Bogota, or browser',
  role: 'Choose a role of this account.',
  samePassword: 'This is one of your last {count} passwords. Choose a different one.',
  signInAltered: 'The sign-in record was altered in the database. Reset the sign-in.',
  weakPassword: 'This password is too easy to guess. Make it longer or less common.',
  appCode: 'Enter the code that the app shows now.',

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
  passphraseWrong:
    'the private key cannot be read, the passphrase is incorrect, or the key takes too much work to open',
  pkcs12: 'this is PKCS#12; convert its key to PEM first: openssl pkcs12 -in FILE -nocerts -nodes',
  publicKeyDamaged: 'the public key is damaged: it does not encrypt',
  privateKeyDamaged: 'the private key is damaged: its signature does not verify',
  activeCertificateExpires: 'the active merchant certificate expires before the overlap ends',
  certificateNeedsKey: 'a certificate needs its private key: give both',
  otherKeyPending: 'another key is pending: a certificate without a key cannot be pending beside it',
  certificateOfOtherKey: 'the merchant certificate belongs to another private key',
  certificateTimes: 'the times of the {whose} certificate are malformed',
  certificateExpired: 'the {whose} certificate has expired',
  certificateExpiresBefore: 'the {whose} certificate expires before it becomes active',
  certificateNotYetValid: 'the {whose} certificate is not valid yet',

  // Settings and processors.
  nothingToChange: 'There is nothing to change: give a key, a certificate or a setting.',
  proxyNotConfigured: 'there is no such configuration',
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
  simulatorInProduction: 'the simulator moves no money; to allow it in production, add --force',
  paymentsOff: 'payments are not enabled there',
  paymentUnknown: 'There is no such payment.',
  paymentsOffHere: 'Payments are not enabled for this account in this environment.',
  requestPending: 'A request for this environment is pending already.',
  changedConcurrently: 'another user changed this at the same time; try again',

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
  keyExpired: 'the key has expired; create a new one',
  keyAltered: 'the key was altered in the database: it can only be revoked; revoke it and create a new one',
  keyRevokedAlready: 'the key is revoked already',
  keyRevoked: 'the key is revoked; create a new one',
  keysFull:
    'an environment has at most {working} valid keys, and at most {made} are created in 24 hours; revoke keys that are no longer needed',
  recordAltered: 'This record was altered in the database and cannot be opened. Tell your operator.',

  // Approvals.
  approvalTooLarge: 'This is too much for one approval. Do it in parts.',
  tooManyPendingApprovals: 'Too many changes are waiting for approval.',
  tooManyOwnPendingApprovals:
    'Too many of your changes are waiting for approval. Wait until they are decided, or withdraw some of them.',
  noOtherApprover: 'No other user of this account can approve this. An operator can invite an owner.',
  otherUserDecides: 'Another user has to decide this.',
  requesterOnly: 'Only the requester can do this.',
  changeUnknown: 'This change no longer exists.',
  approverNotYetEligible:
    'This was requested before you became a member, or before you set up your current second factor. It has to be requested again.',
  approverRightLost: 'The approver no longer has the right to approve this. Request it again.',
  requesterRightLost: 'The operator who requested this is no longer an operator. Decline it.',
  twoApproversNeeded:
    'Two-person approval needs two users who can approve changes. Invite an owner or a developer first.',

  // Users.
  verificationRunning: 'The audit log is already being verified. Try again when the verification has ended.',
  tooManyVerifications: 'Other accounts are verifying their audit logs. Try again in a few minutes.',
  emailHasSignIn: 'This email address already has a sign-in. Sign in, then open the link again.',
  emailTaken: 'Another user has this email address.',
  emailConfirmed: 'This email address is confirmed.',
  emailCode: 'Enter the code of the last mail to this address. It is valid for 30 minutes.',
  mailsUnavailable: 'No server that sends mails is configured.',
  emailUnknown: 'No user has this email address.',
  emailIsMember: 'A member of this account has this email address.',
  alreadyMember: 'You are already a member.',
  accountHasUsers: 'The account has users. One of its owners has to invite you.',
  accountInProduction: 'The account has had a production key. Its owner has to be invited.',
  usersFull: 'An account has at most {number} users, including invited ones. Remove some first.',
  tooManyInvitations: 'There are {number} pending invitations already. Revoke some first.',
  linkInvalid: 'This link was used or revoked, or it has expired. Ask for a new one.',
  linkForPassword: 'This link is for a new password. Sign out, then open it again.',
  linkForOther: 'This invitation is for another user.',
  passkeyFailed: 'The passkey could not be created. Try again.',
  passkeysFull: 'You have {number} passkeys. Remove one first.',
  noPasskey: 'You have no passkey.',
  lastFactor: 'This is your last second factor. Add another one first.',
  lastOwner: 'This is the last owner. Make another user an owner first.',
  lastOperator: 'This is the last operator. Invite another one first.',
  notOperator: 'This user is no operator.',

  // Payments.
  paymentBusy: 'operation in progress: the payment waits for the end of another one',
  paymentOperations: 'the payment has had too many operations',
  paymentRefunded: 'the payment is refunded in full',
  cannotCapture: 'the payment is {status} and cannot be captured',
  cannotRefund: 'the payment is {status} and cannot be refunded',
  cannotVoid: 'the payment is {status} and cannot be voided',
  cannotExpire: 'the payment is {status} and cannot expire',
  payerRequired: 'required, or bill_to in its place',
  noUnknownOutcome: 'there is no such transaction in doubt; see: cardvault payments doubtful',
  otherUnknownOutcome: 'another transaction of the payment is in doubt: {transaction}',
  statusDisallowsOutcome: 'a payment that is {status} does not allow that',
  checkTooEarly: 'the next check is possible in {seconds} s',
  expiryNotRefusable: "the payment has expired: void it in the processor's console, then resolve it as accepted",
  approvalNeedsConsole: 'the change needs a second person, and without the console no member can approve it',

  // Capture sessions.
  expectedUuid: 'expected a UUID version 4',
  sessionEnded: 'the session has ended: {status}',
  sessionOrigin:
    'expected https://HOST or https://HOST:PORT as browsers write it, without a path (sandbox: http://localhost and http://127.0.0.1 too)',
  sessionOwnOrigin: 'the address of the card form itself is not allowed',
  sessionOriginsNeeded: 'required unless return_url is given',
  sessionReturnUrl: 'expected an https: URL of up to {max} ASCII characters without user, capture_session and status',
  sessionMember: 'not allowed with this result',
  sessionCvvHidden: 'expected hidden with the result token',
  sessionAppearance: 'not allowed',
  sessionOriginSetting: 'production sessions need CARDVAULT_CAPTURE_ORIGIN',

  // Webhooks.
  webhookUrl:
    'expected an https: URL of up to {max} visible ASCII characters without user and fragment (sandbox: http: for localhost, 127.0.0.1 and [::1] too)',
  webhookAddress: 'the address is not allowed',
  webhookEvents: 'expected event types, or "*" alone',
  webhookEndpointsFull: 'the account has {number} webhooks in this environment; delete one first',
  webhookDisabled: 'the webhook is disabled; enable it first',
  eventId: 'expected an event_id',
  eventOrSince: 'expected event_id or since, and not both',

  // Limits of one processor.
  processorCountry: 'expected two letters (ISO 3166-1) for this processor',
  processorUpTo: 'expected at most {max} for this processor',
  koinAmount: 'KOIN takes up to 10 digits and 2 decimal places',
  koinCountry: 'expected the two letters of ISO 3166 for KOIN',
  koinSecurityCode: 'expected 3 or 4 digits; KOIN needs it',
  koinHolder: 'expected a name; KOIN needs it',
  koinDocumentType: 'expected a type; KOIN needs the document in AR',
  koinDocumentNumber: 'expected a number; KOIN needs the document in AR',
  koinBrazilianDocument: 'expected the 11 digits of a CPF or the 14 characters of a CNPJ',
  koinSession: "expected the session; KOIN's antifraud needs it",
  koinEmail: "expected an email; KOIN's antifraud needs it",
  koinName: "expected a name; KOIN's antifraud needs it",
  koinLineItems: "expected at least one; KOIN's antifraud needs them",
  koinValue: "expected a value; KOIN's antifraud needs it",

  // Values that a setting accepts.
  valueDuration: '1s to {days}d, as 30s, 15m, 24h or 7d',
  valueWholeNumber: 'a whole number of {min} to {max}',
  valueChoice: 'one of {words}',
  valueUrl: 'an https: URL without user, query and fragment (http: for loopback addresses only)',
  valueCharacters: '{min} to {max} characters without control characters',
  valueOfCharacters: '{min} to {max} of A-Z a-z 0-9 {signs}',
  valueBase64: 'base64 of {min} bytes at least',
  valueCertificate: 'base64 of the DER of a certificate for RSA, on one line, whose subject has a serialNumber',
  valueVisible: 'visible ASCII without blanks',
  valueVisibleUpTo: 'up to {max} visible ASCII characters',
  valueFourDigits: 'four digits',
  valueCountry: 'two capital letters (ISO 3166)',

  // Receipts of deletions.
  receiptNoDeletion: 'the audit log has no deletion of this record',
  receiptRecordExists: 'the record exists, so there is no receipt of its deletion',
  retentionUnchanged: 'the retention rule is already set so',
  receiptLogAltered: 'the audit log was altered, so it proves no deletion: {fault}',

  // Audit verification.
  logRegisterMissing: 'the register of lanes is missing',
  logRegisterSeal: 'the seal of the register of lanes is invalid',
  logRegisterEmpty: 'the register of lanes is empty',
  logUnregistered: '{place}: the lane was never registered',
  logOtherBeginning: '{place}: the first record is not the registered one',
  logUnannounced: '{place}: the chain was never announced',
  logNoAnnouncer: '{place}: the chain that announces the others is missing',
  logAnnouncedTwice: '{place}: the chain was announced twice',
  logGone: '{place}: the chain was announced and is missing',
  logSeal: '{place}: the seal of record {record} is invalid',
  logMissing: '{place}: missing',
  logChanged: '{place}: changed',
  logUnsealed: '{place}: {records} records, of which the head seals {sealed}',
  logBeginning: 'a signed statement about the removed beginning of the log is missing or changed',
  logCheckpointMissing: 'checkpoint {number}: missing',
  logCheckpointChanged: 'checkpoint {number}: changed',
  logCheckpointHead: '{place}: checkpoint {number} names another one',
  logUnreadable: 'a row cannot be read: {problem}',
  invisibleCharacters: 'contains invisible characters; remove them',

  // Places in the audit log.
  placeRecord: 'lane {lane}, record {record}',
  placeLane: 'lane {lane}',
  placeAccountRecord: 'account {account}, lane {lane}, record {record}',
  placeAccountLane: 'account {account}, lane {lane}',
  placeNoAccountRecord: 'an unknown account, lane {lane}, record {record}',
  placeNoAccountLane: 'an unknown account, lane {lane}',
} as const;

export type Reason = keyof typeof REASONS;

/** A limit, a name of a closed list, a place, or another reason; never input. */
type Value = string | number | Explanation;
export type Values = Readonly<Record<string, Value>>;

/** A reason with its values: all that a reader in any language needs. */
export interface Explanation {
  readonly reason: Reason;
  readonly values: Values;
}

type Placeholders<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Placeholders<Rest>
  : never;

/** The reasons without placeholders. */
export type PlainReason = { [R in Reason]: Placeholders<(typeof REASONS)[R]> extends never ? R : never }[Reason];

/** The values that a reason takes, read from its text. */
type ValuesOf<R extends Reason> = { readonly [Name in Placeholders<(typeof REASONS)[R]>]: Value };

/**
 * The values as arguments: none for a reason without placeholders. Line and column may be added, because the console names
 * them where the text of the API gives the place in another way.
 */
export type ValuesArgument<R extends Reason> =
  Placeholders<(typeof REASONS)[R]> extends never
    ? [values?: Record<string, never>]
    : [values: ValuesOf<R> & Partial<TextPosition>];

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
