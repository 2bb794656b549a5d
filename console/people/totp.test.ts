import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Secret } from 'otpauth';
import { systemRandom } from '../../src/crypto/random.ts';
import { buildTotpEnrollment, findTotpStep, newTotpSecret } from './totp.ts';

/** RFC 6238, appendix B, SHA-1: seconds and the 8-digit code, of which apps show the last 6. */
const VECTORS: readonly (readonly [number, string])[] = [
  [59, '94287082'],
  [1_111_111_109, '07081804'],
  [1_111_111_111, '14050471'],
  [1_234_567_890, '89005924'],
  [2_000_000_000, '69279037'],
  [20_000_000_000, '65353130'],
];
const RFC_SECRET = Secret.fromLatin1('12345678901234567890').base32;

describe('codes of authenticator apps', () => {
  test('are those of RFC 6238', () => {
    for (const [seconds, code] of VECTORS)
      assert.equal(findTotpStep(RFC_SECRET, code.slice(2), seconds * 1000), Math.floor(seconds / 30), code);
  });

  test('are valid in their time step, the one before and the one after', () => {
    const [seconds, code] = [1_234_567_890, '005924'];
    const step = seconds / 30;
    const taken = [-61, -31, -30, -1, 0, 29, 30, 59, 60, 61].map((later) =>
      findTotpStep(RFC_SECRET, code, (seconds + later) * 1000),
    );
    assert.deepEqual(taken, [undefined, undefined, step, step, step, step, step, step, undefined, undefined]);
  });

  test('are six digits, with blanks as apps show them', () => {
    const at = 1_234_567_890_000;
    assert.equal(findTotpStep(RFC_SECRET, '005 924', at), at / 30_000);
    for (const wrong of ['', '5924', '89005924', '005925', '00592４', '-05924', '0x5924', '1e5924'])
      assert.equal(findTotpStep(RFC_SECRET, wrong, at), undefined, wrong);
  });

  test('use 160 random bits, and a label with service and user', () => {
    const secret = newTotpSecret(systemRandom());
    assert.match(secret, /^[A-Z2-7]{32}$/);
    assert.notEqual(secret, newTotpSecret(systemRandom()));
    const uri = new URL(buildTotpEnrollment(secret, 'ana@example.com').uri);
    assert.equal(uri.protocol, 'otpauth:');
    assert.equal(decodeURIComponent(uri.pathname), '/cardvault:ana@example.com');
    assert.equal(uri.searchParams.get('secret'), secret);
    assert.equal(uri.searchParams.get('algorithm'), 'SHA1');
  });
});
