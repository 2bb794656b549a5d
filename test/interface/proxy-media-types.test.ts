import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { shareService } from '../fixtures/shared-service.ts';
import type { TestResponse, TestService } from '../fixtures/test-service.ts';
import { exchange, requestText } from '../fixtures/wire.ts';
import { assertRefused, JOSE, newSender, proxied, type Sender, WSSEC } from './proxy-requests.ts';

const shared = shareService();

let service: TestService;
let me: Sender;
before(async () => {
  service = await shared.open();
  me = await newSender(service);
});
after(() => shared.close());

describe('media types of the proxy', () => {
  const jose = (type: string): Promise<TestResponse> => me.jose('{}', { 'content-type': type });
  const wssec = (type: string): Promise<TestResponse> => me.wssec('<a/>', { 'content-type': type });

  for (const type of ['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"'])
    test(`jose accepts ${type}`, async () => proxied(await jose(type)));
  for (const type of [
    'application/xml',
    'text/xml',
    'text/plain',
    'application/jwt',
    'application/problem+json',
    '',
    ';',
  ])
    test(`jose rejects "${type}"`, async () => assertRefused(await jose(type), /media type/, 415));

  for (const type of [
    'application/xml',
    'text/xml',
    'application/soap+xml',
    'application/vnd.example+xml',
    'TEXT/XML; charset=UTF-8',
    'text/xml;charset="utf-8"',
    'text/xml; charset=us-ascii',
    'application/soap+xml; charset=utf-8; action="urn:x"',
    'application/soap+xml; action="urn:x"; charset=utf8',
  ])
    test(`wssec accepts ${type}`, async () => proxied(await wssec(type)));
  for (const type of [
    'application/json',
    'text/plain',
    'application/xhtml',
    'application/xml-dtd',
    'xml',
    'text/xml; charset=iso-8859-1',
    'text/xml; charset="ISO-8859-1"',
    'application/xml;charset=utf-16',
    'application/soap+xml; action="x"; charset=windows-1252',
    'application/soap',
    'multipart/related; type="application/xop+xml"',
    '',
  ])
    test(`wssec rejects "${type}"`, async () => assertRefused(await wssec(type), /media type/, 415));

  test('jose and wssec reject a body without a type', async () => {
    for (const [path, body] of [
      [JOSE, '{}'],
      [WSSEC, '<a/>'],
    ] as const) {
      const headers = { 'ft-access-key': me.key, 'content-length': String(body.length) };
      const [response] = await exchange(service, requestText(`POST ${path}`, headers, body));
      assert.equal(response?.status, 415);
    }
  });
});
