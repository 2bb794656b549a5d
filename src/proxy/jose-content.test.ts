import assert from 'node:assert/strict';
import { createDecipheriv } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { CONTENT_ENCRYPTION } from './jose.ts';
import type { EffectiveSettings } from './settings.ts';

const hex = (text: string): Buffer => Buffer.from(text.replace(/\s/g, ''), 'hex');

interface Vector {
  readonly source: string;
  readonly algorithm: EffectiveSettings['jose.content'];
  readonly key: Buffer;
  readonly iv: Buffer;
  readonly plaintext: Buffer;
  readonly additional: Buffer;
  readonly ciphertext: Buffer;
  readonly tag: Buffer;
}

const KERCKHOFFS = {
  iv: hex('1af38c2dc2b96ffdd86694092341bc04'),
  plaintext: Buffer.from(
    'A cipher system must not be required to be secret, and it must be able to fall into the hands of the enemy without inconvenience',
  ),
  additional: Buffer.from('The second principle of Auguste Kerckhoffs'),
};
const counted = (bytes: number): Buffer => Buffer.from(Array.from({ length: bytes }, (_, index) => index));

const VECTORS: readonly Vector[] = [
  {
    source: 'RFC 7518, B.1',
    algorithm: 'A128CBC-HS256',
    ...KERCKHOFFS,
    key: counted(32),
    ciphertext: hex(`
      c80edfa32ddf39d5ef00c0b468834279a2e46a1b8049f792f76bfe54b903a9c9a94ac9b47ad2655c5f10f9aef71427e2
      fc6f9b3f399a221489f16362c703233609d45ac69864e3321cf82935ac4096c86e133314c54019e8ca7980dfa4b9cf1b
      384c486f3a54c51078158ee5d79de59fbd34d848b3d69550a67646344427ade54b8851ffb598f7f80074b9473c82e2db`),
    tag: hex('652c3fa36b0a7c5b3219fab3a30bc1c4'),
  },
  {
    source: 'RFC 7518, B.3',
    algorithm: 'A256CBC-HS512',
    ...KERCKHOFFS,
    key: counted(64),
    ciphertext: hex(`
      4affaaadb78c31c5da4b1b590d10ffbd3dd8d5d302423526912da037ecbcc7bd822c301dd67c373bccb584ad3e9279c2
      e6d12a1374b77f077553df829410446b36ebd97066296ae6427ea75c2e0846a11a09ccf5370dc80bfecbad28c73f09b3
      a3b75e662a2594410ae496b2e2e6609e31e6e02cc837f053d21f37ff4f51950bbe2638d09dd7a4930930806d0703b1f6`),
    tag: hex('4dd3b4c088a7f45c216839645b2012bf2e6269a8c56a816dbc1b267761955bc5'),
  },
  {
    source: 'RFC 7516, A.1',
    algorithm: 'A256GCM',
    key: Buffer.from([
      ...[177, 161, 244, 128, 84, 143, 225, 115, 63, 180, 3, 255, 107, 154, 212, 246, 138, 7, 110, 91, 112, 46],
      ...[34, 105, 47, 130, 203, 46, 122, 234, 64, 252],
    ]),
    iv: Buffer.from('48V1_ALb6US04U3b', 'base64url'),
    plaintext: Buffer.from('The true sign of intelligence is not knowledge but imagination.'),
    additional: Buffer.from('eyJhbGciOiJSU0EtT0FFUCIsImVuYyI6IkEyNTZHQ00ifQ'),
    ciphertext: Buffer.from(
      '5eym8TW_c8SuK0ltJ3rpYIzOeDQz7TALvtu6UG9oMo4vpzs9tX_EFShS8iB7j6jiSdiwkIr3ajwQzaBtQD_A',
      'base64url',
    ),
    tag: Buffer.from('XFBoMYUZodetZdvTiFvSkQ', 'base64url'),
  },
  {
    source: 'RFC 7516, A.2',
    algorithm: 'A128CBC-HS256',
    key: Buffer.from([
      ...[4, 211, 31, 197, 84, 157, 252, 254, 11, 100, 157, 250, 63, 170, 106, 206, 107, 124, 212, 45, 111, 107],
      ...[9, 219, 200, 177, 0, 240, 143, 156, 44, 207],
    ]),
    iv: Buffer.from('AxY8DCtDaGlsbGljb3RoZQ', 'base64url'),
    plaintext: Buffer.from('Live long and prosper.'),
    additional: Buffer.from('eyJhbGciOiJSU0ExXzUiLCJlbmMiOiJBMTI4Q0JDLUhTMjU2In0'),
    ciphertext: Buffer.from('KDlTtXchhZTGufMYmOYGS4HffxPSUrfmqCHXaI9wOGY', 'base64url'),
    tag: Buffer.from('9hH0vgRfYgPnAHOd8stkvw', 'base64url'),
  },
];

describe('content encryption', () => {
  for (const { source, algorithm, key, iv, plaintext, additional, ciphertext, tag } of VECTORS) {
    it(`by ${algorithm} equals the example of ${source}`, () => {
      const method = CONTENT_ENCRYPTION[algorithm];
      assert.deepEqual([method.keyBytes, method.ivBytes], [key.length, iv.length]);
      assert.deepEqual(method.encrypt(key, iv, plaintext, additional), { ciphertext, tag });
    });
  }

  it('pads to full blocks where the cipher needs them, and can be decrypted', () => {
    const ciphers = { 'A256CBC-HS512': ['aes-256-cbc', 32], 'A128CBC-HS256': ['aes-128-cbc', 16] } as const;
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), fc.uint8Array({ maxLength: 40 }), (plaintext, additional) => {
        for (const [algorithm, [name, half]] of Object.entries(ciphers)) {
          const [key, iv] = [counted(2 * half), counted(16)];
          const { ciphertext, tag } = CONTENT_ENCRYPTION[algorithm as EffectiveSettings['jose.content']].encrypt(
            key,
            iv,
            plaintext,
            additional,
          );
          assert.equal(ciphertext.length, 16 * Math.floor(plaintext.length / 16 + 1));
          assert.equal(tag.length, half);
          const decipher = createDecipheriv(name, key.subarray(half), iv);
          const opened = Buffer.concat([decipher.update(ciphertext), decipher.final()]);
          assert.deepEqual(new Uint8Array(opened), plaintext);
        }
        const sealed = CONTENT_ENCRYPTION.A128GCM.encrypt(counted(16), counted(12), plaintext, additional);
        assert.deepEqual([sealed.ciphertext.length, sealed.tag.length], [plaintext.length, 16]);
      }),
    );
  });
});
