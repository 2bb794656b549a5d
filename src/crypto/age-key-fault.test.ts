import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generateHybridIdentity, generateX25519Identity, identityToRecipient } from 'age-encryption';
import { describeIdentityFault, describeRecipientFault } from './age-key-fault.ts';

const withOtherEnd = (key: string, end: string): string => `${key.slice(0, -1)}${key.endsWith(end) ? 'q' : end}`;

test('a recipient that is not valid is described without a part of it', async () => {
  const identity = await generateX25519Identity();
  const recipient = await identityToRecipient(identity);
  const hybrid = await identityToRecipient(await generateHybridIdentity());
  for (const [text, expected] of [
    ['age1invalid', /^has 11 characters, and a key of this type has 62; copy the whole key again$/],
    [recipient.slice(0, -1), /^has 61 characters/],
    [`${recipient.slice(0, -1)}b`, /^contains a character that no key of age has; copy/],
    [recipient.replace('age1', 'age1B').slice(0, 62), /^contains a character that no key of age has/],
    [withOtherEnd(recipient, 'p'), /^is damaged, because its checksum does not match its characters; copy/],
    [withOtherEnd(hybrid, 'p'), /^is damaged, because its checksum/],
    [`${hybrid}b`, /^contains a character/],
    ['age1yubikey1qqqq', /^is the recipient of an age plugin/],
    [identity, /^is a private key; give the public key/],
    [identity.toLowerCase(), /^is a private key; give the public key/],
    ['ssh-ed25519 AAAA', /^expected a recipient that starts with age1$/],
    ['', /^expected a recipient that starts with age1$/],
  ] as const)
    assert.match(describeRecipientFault(text), expected, text);
});

test('an identity that is not valid is described without a part of it', async () => {
  const identity = await generateX25519Identity();
  for (const [text, expected] of [
    ['AGE-SECRET-KEY-1', /^has 16 characters, and a key of this type has 74/],
    [`${identity.slice(0, -1)}B`, /^contains a character/],
    [withOtherEnd(identity, 'P'), /^is damaged, because its checksum/],
    [withOtherEnd(await generateHybridIdentity(), 'P'), /^is damaged, because its checksum/],
    [
      await identityToRecipient(identity),
      /^is a public key; expected the private key that starts with AGE-SECRET-KEY-1$/,
    ],
    ['secret', /^expected a private key that starts with AGE-SECRET-KEY-1$/],
  ] as const)
    assert.match(describeIdentityFault(text), expected, text);
});
