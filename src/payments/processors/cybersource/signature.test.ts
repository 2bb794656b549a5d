import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, test } from 'node:test';
import { buildJwtHeaders, buildSignatureHeaders, toSecretKey } from './signature.ts';

// A vector with an invented key, computed without this code.
const SECRET = 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=';
const credentials = { merchantId: 'mymid', keyId: 'kid-1', secret: toSecretKey(SECRET) };
const body = '{"clientReferenceInformation":{"code":"REF-1"}}';
const DIGEST = 'mnFn1B12lCPFtkQprwfcNoqokvBRfLFLGba+xUn3sjw=';
const payments = { method: 'POST', url: new URL('https://apitest.cybersource.com/pts/v2/payments'), body } as const;
const details = {
  method: 'GET',
  url: new URL('https://apitest.cybersource.com/tss/v2/transactions/123'),
  body: undefined,
} as const;
/** The bytes from which the vector's identifier is derived. */
const random = {
  bytes: () => new Uint8Array(Buffer.from('6643fb9a809347c695d38d69785b5e62', 'hex')),
  below: () => 0,
};

const token = (headers: Readonly<Record<string, string>>): string[] =>
  (headers['authorization'] ?? '').replace('Bearer ', '').split('.');
const read = (part = ''): Record<string, unknown> => JSON.parse(Buffer.from(part, 'base64url').toString());

describe('the token', () => {
  const headers = buildJwtHeaders(credentials, payments, () => 1_700_000_000_999, random);
  const [header, claims, signature] = token(headers);

  test('has the signature of the vector', () => {
    assert.equal(signature, 'WjipFAEPtKSPbqKPULTOetj4ZChCK69yfXo8gtCLlsM');
    assert.deepEqual(Object.keys(headers), ['authorization']);
  });

  test('has its header and claims', () => {
    assert.deepEqual(read(header), { typ: 'JWT', alg: 'HS256', kid: 'kid-1' });
    assert.deepEqual(read(claims), {
      digest: DIGEST,
      digestAlgorithm: 'SHA-256',
      iat: 1_700_000_000,
      exp: 1_700_000_120,
      'request-host': 'apitest.cybersource.com',
      'request-resource-path': '/pts/v2/payments',
      'request-method': 'post',
      iss: 'mymid',
      jti: '6643fb9a-8093-47c6-95d3-8d69785b5e62',
      'v-c-jwt-version': '2',
      'v-c-merchant-id': 'mymid',
    });
  });

  test('without a body has no digest, and names a port where the address has one', () => {
    const url = new URL('http://127.0.0.1:8080/tss/v2/transactions/123');
    const [, sent] = token(buildJwtHeaders(credentials, { ...details, url }, () => 0, random));
    assert.equal(read(sent)['request-host'], '127.0.0.1:8080');
    assert.equal(Object.hasOwn(read(sent), 'digest'), false);
    assert.equal(Object.hasOwn(read(sent), 'digestAlgorithm'), false);
  });
});

describe('the HTTP signature', () => {
  const clock = (): number => Date.parse('2019-07-18T00:18:03.999Z');

  test('of a POST equals that of the vector', () => {
    assert.deepEqual(buildSignatureHeaders(credentials, payments, clock), {
      host: 'apitest.cybersource.com',
      date: 'Thu, 18 Jul 2019 00:18:03 GMT',
      digest: `SHA-256=${DIGEST}`,
      'v-c-merchant-id': 'mymid',
      signature:
        'keyid="kid-1", algorithm="HmacSHA256", headers="host date request-target digest v-c-merchant-id", ' +
        'signature="oeZ5DLHtuXVCII1FnJM1ErOIiqhHlShFH4olLFIHmLc="',
    });
  });

  test('of a GET equals that of the vector, without a digest', () => {
    assert.deepEqual(buildSignatureHeaders(credentials, details, clock), {
      host: 'apitest.cybersource.com',
      date: 'Thu, 18 Jul 2019 00:18:03 GMT',
      'v-c-merchant-id': 'mymid',
      signature:
        'keyid="kid-1", algorithm="HmacSHA256", headers="host date request-target v-c-merchant-id", ' +
        'signature="rfsOjaBm3PJDcax+tEVAjTbFkCeoI1GQX5pIJ3FXKvw="',
    });
  });

  test('covers the query', () => {
    const url = new URL('https://h.example/a?b=c');
    const { signature = '' } = buildSignatureHeaders(credentials, { ...details, url }, clock);
    const text =
      'host: h.example\ndate: Thu, 18 Jul 2019 00:18:03 GMT\nrequest-target: get /a?b=c\nv-c-merchant-id: mymid';
    const expected = createHmac('sha256', Buffer.from(SECRET, 'base64')).update(text).digest('base64');
    assert.ok(signature.endsWith(`signature="${expected}"`));
  });

  test('reads the clock once', () => {
    let readings = 0;
    buildSignatureHeaders(credentials, payments, () => ++readings * 1000);
    assert.equal(readings, 1);
  });
});
