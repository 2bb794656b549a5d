/** Says what is wrong with a key of the age format, without any part of it, for a key that the library rejected. */

/** Bech32 (BIP 173) has no other characters after the prefix. */
const DATA = /^[qpzry9x8gf2tvdw0s3jn54khce6mua7l]*$/;
const RECIPIENT = 'age1';
/** Other types of recipients that the library knows: post-quantum keys, and keys of hardware. */
const OTHER_RECIPIENTS = ['age1pq1', 'age1tag1', 'age1tagpq1'];
const IDENTITY = 'AGE-SECRET-KEY-1';
const POST_QUANTUM_IDENTITY = 'AGE-SECRET-KEY-PQ-1';
const RECIPIENT_CHARACTERS = 62;
const IDENTITY_CHARACTERS = 74;

/** Returns a phrase for an error: `expected …`, or `is …`. */
export function describeRecipientFault(text: string): string {
  if (text.toUpperCase().startsWith('AGE-SECRET-KEY-'))
    return 'is a private key; give the public key that starts with age1';
  if (!text.startsWith(RECIPIENT)) return 'expected a recipient that starts with age1';
  const other = OTHER_RECIPIENTS.find((prefix) => text.startsWith(prefix));
  if (other === undefined && /^age1[a-z0-9-]+1/.test(text))
    return 'is the recipient of an age plugin; give one that age-keygen printed';
  return other === undefined
    ? describeDamage(text.slice(RECIPIENT.length), text.length, RECIPIENT_CHARACTERS)
    : describeDamage(text.slice(other.length));
}

/** Returns a phrase for an error: `expected …`, or `is …`. */
export function describeIdentityFault(text: string): string {
  if (text.startsWith(RECIPIENT)) return `is a public key; expected the private key that starts with ${IDENTITY}`;
  if (text.startsWith(POST_QUANTUM_IDENTITY))
    return describeDamage(text.slice(POST_QUANTUM_IDENTITY.length).toLowerCase());
  if (!text.startsWith(IDENTITY)) return `expected a private key that starts with ${IDENTITY}`;
  return describeDamage(text.slice(IDENTITY.length).toLowerCase(), text.length, IDENTITY_CHARACTERS);
}

function describeDamage(data: string, length?: number, expected?: number): string {
  const copyAgain = 'copy the whole key again';
  if (length !== expected) return `has ${length} characters, and a key of this type has ${expected}; ${copyAgain}`;
  if (!DATA.test(data)) return `contains a character that no key of age has; ${copyAgain}`;
  return `is damaged, because its checksum does not match its characters; ${copyAgain}`;
}
