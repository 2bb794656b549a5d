import assert from 'node:assert/strict';
import { createHash, verify } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { shareService } from '../fixtures/shared-service.ts';
import type { TestService } from '../fixtures/test-service.ts';
import { MERCHANT, newSender, PROCESSOR, proxied, type Sender } from './proxy-requests.ts';

const shared = shareService();

/**
 * A client that sends a payload knows all of it but the hidden digits of the card. If any part of the response were a
 * function of the plaintext alone, the client could try the digits until it matches; so no part of it may match the
 * true ones.
 */
const PAN = '4111115678901236';

/** Enough of a digest in any form to be no accident. */
const WINDOW = 16;

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const base64url = (text: string): string => Buffer.from(text).toString('base64url');

/** Everything an answer shows: its text, and what its base64 holds, and that again. */
function layersOf(text: string, depth = 4): string[] {
  if (depth === 0) return [text];
  const pieces = text.match(/[A-Za-z0-9+/_-]{20,}={0,2}/g) ?? [];
  return [text, ...pieces.flatMap((piece) => layersOf(Buffer.from(piece, 'base64').toString('latin1'), depth - 1))];
}

/** The digests of these texts that any layer holds as bytes, hexadecimal, base64 or base64url. */
function found(shown: string, plaintexts: readonly string[]): string[] {
  const everything = layersOf(shown).join('\n');
  assert.ok(everything.length > 500);
  return plaintexts.flatMap((plaintext) =>
    ['sha1', 'sha256', 'sha384', 'sha512', 'md5'].flatMap((algorithm) => {
      const digest = createHash(algorithm).update(plaintext).digest();
      const forms = (['hex', 'base64', 'base64url', 'latin1'] as const).filter((form) =>
        everything.includes(digest.toString(form).slice(0, WINDOW)),
      );
      return forms.map((form) => `${algorithm} as ${form} of ${plaintext}`);
    }),
  );
}

let service: TestService;
before(async () => {
  service = await shared.open();
});
after(() => shared.close());

const senderWith = (settings: Record<string, string>): Promise<Sender> =>
  newSender(service, { setup: { processor: PROCESSOR, merchant: MERCHANT, settings } });

test('the search finds a digest in every encoding', () => {
  const filler = 'x'.repeat(600);
  for (const algorithm of ['sha1', 'sha256', 'sha384', 'sha512']) {
    const digest = createHash(algorithm).update(`<a>${PAN}</a>`).digest();
    for (const form of ['hex', 'base64', 'base64url'] as const) {
      const text = `${filler} ${digest.toString(form)}`;
      for (const shown of [text, `${filler} ${base64(text)}`, base64url(base64(text))])
        assert.notDeepEqual(found(shown, [`<a>${PAN}</a>`]), [], `${algorithm} ${form}`);
    }
  }
});

for (const order of ['encrypt-sign', 'sign-encrypt']) {
  for (const signature of ['RSA-SHA256', 'RSA-SHA512']) {
    test(`wssec ${order} ${signature} contains no digest of the plaintext`, async () => {
      const me = await senderWith({ 'wssec.order': order, 'wssec.signature': signature });
      const token = await me.token(PAN);
      const { xml } = proxied(await me.wssec(`<a>{{${token}:detokenize}}</a>`));
      assert.ok(!xml.includes(PAN));
      const [, bodyTag = '', id = ''] = /(<soapenv:Body[^>]* wsu:Id="([^"]+)">)/.exec(xml) ?? [];
      assert.notEqual(id, '');
      // All names of the Body are in clear, so its canonical form is known but for the digits.
      const declared = `xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"`;
      const content = `<a>${PAN}</a>`;
      const plaintexts = [
        content,
        PAN,
        `${bodyTag}${content}</soapenv:Body>`,
        `<soapenv:Body ${declared}>${content}</soapenv:Body>`,
        `<soapenv:Body ${declared} Id="${id}">${content}</soapenv:Body>`,
      ];
      assert.deepEqual(found(xml, plaintexts), []);
      const hasSignature = xml.includes('<ds:SignedInfo');
      assert.equal(hasSignature, order === 'encrypt-sign', 'a signature over plaintext is not in clear');
      if (!hasSignature) assert.ok(!/SignatureValue|DigestValue/.test(xml));
    });
  }
}

for (const payload of ['nested', 'plain']) {
  describe(`jose ${payload}`, () => {
    let me: Sender;
    let text: string;
    let data: { value: string; encryption: string; signed: boolean };
    const plaintext = `{"a":"${PAN}"}`;
    before(async () => {
      me = await senderWith({ 'jose.payload': payload });
      const response = await me.jose(`{"a":"{{${await me.token(PAN)}:detokenize}}"}`);
      data = proxied(response);
      text = response.text;
    });

    test('contains no digest of the plaintext', () => {
      assert.ok(!layersOf(text).join('\n').includes(PAN));
      assert.deepEqual(found(text, [plaintext, PAN, base64url(plaintext)]), []);
    });

    test('contains one signature in clear, over ciphertext', () => {
      const [header = '', payload = '', signature = '', ...more] = data.encryption.split('.');
      assert.deepEqual(more, []);
      const input = Buffer.from(`${header}.${base64url(data.value)}`);
      assert.equal(payload, base64url(data.value));
      assert.ok(verify('sha256', input, MERCHANT.publicKey, Buffer.from(signature, 'base64url')));
      assert.equal(text.split(signature).length, 2);
      assert.equal(data.value.split('.').length, 5, 'all of the rest is ciphertext');
      assert.ok(!text.includes('"alg"'));
    });

    test('of equal cards differs each time, with the same length', async () => {
      const again = proxied(await me.jose(`{"a":"{{${await me.token(PAN)}:detokenize}}"}`));
      const [one, other] = [data.value, again.value].map((value) => value.split('.'));
      for (const part of [1, 2, 3, 4]) assert.notEqual(one?.[part], other?.[part]);
      assert.equal(again.value.length, data.value.length);
    });
  });
}
