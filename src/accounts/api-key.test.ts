import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemRandom } from '../crypto/random.ts';
import { ENVIRONMENTS } from '../kernel/environment.ts';
import { type ApiKey, generateSecret, keyStateAt, toPrefix } from './api-key.ts';

const random = systemRandom();

describe('a secret', () => {
  it('is the name of its environment, followed by 256 random bits', () => {
    const dealt = Uint8Array.from({ length: 32 }, (_, index) => index * 8 + 1);
    const fixed = { bytes: (size: number) => dealt.slice(0, size), below: () => 0 };
    for (const environment of ENVIRONMENTS) {
      const secret = generateSecret(environment, fixed);
      assert.ok(secret.startsWith(`cv_${environment}_`));
      const bits = Buffer.from(secret.slice(`cv_${environment}_`.length), 'base64url');
      assert.deepEqual(new Uint8Array(bits), dealt);
    }
  });

  it('is safe in headers and file names, and never the same', () => {
    const secrets = Array.from({ length: 200 }, () => generateSecret('sandbox', random));
    for (const secret of secrets) assert.match(secret, /^cv_sandbox_[A-Za-z0-9_-]{43}$/);
    assert.equal(new Set(secrets).size, secrets.length);
  });
});

describe('the prefix', () => {
  it('names the environment and shows four characters', () => {
    assert.equal(toPrefix('cv_sandbox_AbCdEfGh'), 'cv_sandbox_AbCd');
    assert.equal(toPrefix('cv_production_A-_dEfGh'), 'cv_production_A-_d');
    for (const environment of ENVIRONMENTS) {
      const secret = generateSecret(environment, random);
      assert.equal(toPrefix(secret), secret.slice(0, -39));
    }
  });
});

describe('the state of a key', () => {
  const key: ApiKey = {
    isTampered: false,
    id: 'key_1',
    account: 'acc_1',
    environment: 'sandbox',
    prefix: 'cv_sandbox_AbCd',
    name: 'till',
    description: '',
    permissions: ['tokens:create'],
    allowList: [],
    createdAt: 0,
    expiresAt: undefined,
    revokedAt: undefined,
    lastUsedAt: undefined,
    successor: undefined,
    revision: 1,
  };

  it('is active when it has no expiry', () => {
    assert.equal(keyStateAt(key, Number.MAX_SAFE_INTEGER), 'active');
  });

  it('is expired from its time of expiry on', () => {
    const ending = { ...key, expiresAt: 1000 };
    assert.equal(keyStateAt(ending, 999), 'active');
    assert.equal(keyStateAt(ending, 1000), 'expired');
    assert.equal(keyStateAt(ending, 1001), 'expired');
  });

  it('is revoked permanently, even if the clock of this machine is set back', () => {
    const revoked = { ...key, revokedAt: 1000 };
    for (const now of [0, 999, 1000, 1001]) assert.equal(keyStateAt(revoked, now), 'revoked');
    assert.equal(keyStateAt({ ...revoked, expiresAt: 500 }, 600), 'revoked');
  });
});
