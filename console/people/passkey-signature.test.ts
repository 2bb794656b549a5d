import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { test } from 'node:test';
import { ES256, isCanonicalSignature } from './passkey-signature.ts';

const isCanonical = (hex: string): boolean => isCanonicalSignature(ES256, Buffer.from(hex, 'hex'));

test('an ECDSA signature is canonical in the shortest encoding of two positive numbers', () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  for (let round = 0; round < 50; round++)
    assert.ok(isCanonicalSignature(ES256, sign('sha256', Buffer.from([round]), privateKey)));
  for (const hex of ['3006020101020101', '300702020080020101', '300702010102020080']) assert.ok(isCanonical(hex), hex);
});

test('no other encoding of the same numbers is canonical', () => {
  const others = {
    'a length in two bytes': '308106020101020101',
    'an indefinite length': '30800201010201010000',
    'a length of an integer in two bytes': '300702810101020101',
    'a zero in front of r': '300702020001020101',
    'a zero in front of s': '300702010102020001',
    'a negative r': '3006020180020101',
    'a negative s': '3006020101020180',
    'a missing byte': '30060201010201',
    'a byte after it': '300602010102010100',
    'a byte in the sequence after it': '300702010102010100',
    'a third integer': '3009020101020101020101',
    'no s': '3003020101',
    'an empty r': '30050200020101',
    'an empty s': '30050201010200',
    'an s that is longer than the sequence': '3006020101020201',
    'another tag of the sequence': '3106020101020101',
    'another tag of r': '3006030101020101',
    'another tag of s': '3006020101030101',
    nothing: '',
    'one byte': '30',
    'an empty sequence': '3000',
  };
  for (const [name, hex] of Object.entries(others)) assert.equal(isCanonical(hex), false, name);
});

test('signatures of other algorithms have no structure', () => {
  assert.ok(isCanonicalSignature(-8, Buffer.alloc(64)));
  assert.ok(isCanonicalSignature(-257, Buffer.alloc(256)));
});
