import assert from 'node:assert/strict';
import { createHash, verify } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { type House, startHouse } from '../house.ts';
import { MERCHANT, newSender, PROCESSOR, proxied, type Sender } from './proxy.ts';

/**
 * Whoever sends a payload knows all of it but the hidden digits of the card. If anything in the answer was a function of
 * the plaintext alone, they could try the digits. Here four are tried around the true ones.
 */
const PAN = '4111115678901236';
const CANDIDATES = Array.from(
  { length: 10_000 },
  (_, index) => `${PAN.slice(0, 8)}${String(index).padStart(4, '0')}${PAN.slice(12)}`,
);

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

/** The digests that any layer holds as bytes, hexadecimal, base64 or base64url. */
function found(shown: string, plaintexts: (pan: string) => string[], candidates = CANDIDATES): string[] {
  const everything = layersOf(shown).join('\n');
  const hits: string[] = [];
  const windows = new Set<string>();
  for (let at = 0; at + WINDOW <= everything.length; at++) windows.add(everything.slice(at, at + WINDOW));
  for (const pan of candidates) {
    for (const plaintext of plaintexts(pan)) {
      for (const algorithm of ['sha1', 'sha256', 'sha384', 'sha512', 'md5']) {
        const digest = createHash(algorithm).update(plaintext).digest();
        const forms = [
          digest.toString('hex'),
          digest.toString('base64'),
          digest.toString('base64url'),
          digest.toString('latin1'),
        ];
        for (const form of forms) if (windows.has(form.slice(0, WINDOW))) hits.push(`${algorithm} ${form.length}`);
      }
    }
  }
  assert.ok(everything.length > 500);
  return hits;
}

let house: House;
before(async () => {
  house = await startHouse();
});
after(() => house.stop());

const senderWith = (settings: Record<string, string>): Promise<Sender> =>
  newSender(house, { setup: { processor: PROCESSOR, merchant: MERCHANT, settings } });

test('the candidates hold the card, and the search finds a digest in every form', () => {
  assert.ok(CANDIDATES.includes(PAN));
  const filler = 'x'.repeat(600);
  for (const algorithm of ['sha1', 'sha256', 'sha384', 'sha512']) {
    const digest = createHash(algorithm).update(`<a>${PAN}</a>`).digest();
    for (const form of ['hex', 'base64', 'base64url'] as const) {
      const text = `${filler} ${digest.toString(form)}`;
      for (const shown of [text, `${filler} ${base64(text)}`, base64url(base64(text))])
        assert.notDeepEqual(
          found(shown, (pan) => [`<a>${pan}</a>`], [PAN]),
          [],
          `${algorithm} ${form}`,
        );
    }
  }
});

for (const order of ['encrypt-sign', 'sign-encrypt']) {
  for (const signature of ['RSA-SHA256', 'RSA-SHA512']) {
    test(`wssec ${order} ${signature} shows no digest of the plaintext`, async () => {
      const me = await senderWith({ 'wssec.order': order, 'wssec.signature': signature });
      const token = await me.token(PAN);
      const { xml } = proxied(await me.wssec(`<a>{{${token}:detokenize}}</a>`));
      assert.ok(!xml.includes(PAN));
      const [, bodyTag = '', id = ''] = /(<soapenv:Body[^>]* wsu:Id="([^"]+)">)/.exec(xml) ?? [];
      assert.notEqual(id, '');
      // All names of the Body are in clear, so its canonical form is known but for the digits.
      const declared = `xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"`;
      const plaintexts = (pan: string): string[] => {
        const content = `<a>${pan}</a>`;
        return [
          content,
          pan,
          `${bodyTag}${content}</soapenv:Body>`,
          `<soapenv:Body ${declared}>${content}</soapenv:Body>`,
          `<soapenv:Body ${declared} Id="${id}">${content}</soapenv:Body>`,
        ];
      };
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
    const plaintext = (pan: string): string => `{"a":"${pan}"}`;
    before(async () => {
      me = await senderWith({ 'jose.payload': payload });
      const answer = await me.jose(`{"a":"{{${await me.token(PAN)}:detokenize}}"}`);
      data = proxied(answer);
      text = answer.text;
    });

    test('shows no digest of the plaintext', () => {
      assert.ok(!layersOf(text).join('\n').includes(PAN));
      assert.deepEqual(
        found(text, (pan) => [plaintext(pan), pan, base64url(plaintext(pan))]),
        [],
      );
    });

    test('holds no signature in clear that verifies over a candidate', () => {
      const [header = '', , signature = ''] = data.encryption.split('.');
      const bytes = Buffer.from(signature, 'base64url');
      const over = (input: string): boolean => verify('sha256', Buffer.from(input), MERCHANT.publicKey, bytes);
      assert.ok(over(`${header}.${base64url(data.value)}`), 'it is over the encrypted value');
      // A signature is deterministic, so the true card alone would tell; its neighbours are for good measure.
      for (const pan of [PAN, ...CANDIDATES.slice(0, 500)]) {
        const inner = ['RS256', 'PS256'].map((alg) => base64url(`{"alg":"${alg}"}`));
        for (const start of [header, ...inner]) assert.ok(!over(`${start}.${base64url(plaintext(pan))}`));
        assert.ok(!over(plaintext(pan)) && !over(base64url(plaintext(pan))));
      }
      assert.equal(text.split(signature).length, 2);
      const parts = data.value.split('.');
      assert.equal(parts.length, 5, 'all of the rest is ciphertext');
    });

    test('its length tells no more than that of the plaintext', async () => {
      const token = await me.token('4111115678901244');
      const again = proxied(await me.jose(`{"a":"{{${token}:detokenize}}"}`));
      assert.equal(again.value.length, data.value.length);
    });
  });
}
