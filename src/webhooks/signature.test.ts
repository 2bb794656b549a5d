import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { test } from 'node:test';
import { formatSecret, signMessage } from './signature.ts';

/** The example of the specification of Standard Webhooks, and of its reference libraries. */
const SECRET = 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const MESSAGE = {
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  timestamp: 1_614_265_330,
  body: Buffer.from('{"test": 2432232314}'),
};
const SIGNATURE = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';

test('a message is signed as the specification shows', () => {
  const key = createSecretKey(Buffer.from(SECRET, 'base64'));
  assert.equal(signMessage([key], MESSAGE), SIGNATURE);
  const other = createSecretKey(Buffer.alloc(32, 1));
  const both = signMessage([other, key], MESSAGE).split(' ');
  assert.equal(both.length, 2);
  assert.equal(both[1], SIGNATURE);
  assert.notEqual(both[0], SIGNATURE);
});

test('a secret is padded base64 behind its prefix', () => {
  assert.equal(formatSecret(new Uint8Array(32)), `whsec_${'A'.repeat(43)}=`);
});
