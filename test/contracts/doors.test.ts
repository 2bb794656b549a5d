import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createKey } from '../../console/wire/keys.ts';
import { MINUTE } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { newPerson, pathOf } from '../console/console-client.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';

/**
 * The order in which both doors check a request. Each line of a table is one check, and the request that it sends is wrong in
 * that check and in every later one: so the response is that of the check, or the order has changed.
 */
interface Check {
  readonly name: string;
  readonly expected: string;
  readonly wrong: Partial<Parts>;
}

interface Parts {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Returns the request that is wrong in the check at `index` and in all later ones. */
function wrongFrom(checks: readonly Check[], index: number, right: Parts): Parts {
  const wrong = checks
    .slice(index)
    .reverse()
    .map((check) => check.wrong);
  const headers = Object.assign({}, right.headers, ...wrong.map((each) => each.headers));
  return Object.assign({}, right, ...wrong, { headers });
}

const MIB = 1024 * 1024;
const ID = '0f4e2c9a-5d1b-4b7e-9c3a-8a1d2e3f4b5c';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

describe('the API checks in this order', () => {
  const checks: readonly Check[] = [
    { name: 'path', expected: '404', wrong: { path: '/v1/nothing' } },
    { name: 'method', expected: '405', wrong: { method: 'PUT' } },
    { name: 'key', expected: '403', wrong: { headers: { 'x-api-key': 'wrong' } } },
    { name: 'media type', expected: '415', wrong: { headers: { 'content-type': 'text/plain' } } },
    { name: 'size', expected: '413', wrong: { body: 'x'.repeat(MIB + 1) } },
    { name: 'Idempotency-Key', expected: '400 Idempotency-Key', wrong: { headers: { 'idempotency-key': 'a b' } } },
    { name: 'syntax', expected: '400 malformed JSON', wrong: { body: '{"scheme":2,' } },
    { name: 'fields', expected: '400 scheme', wrong: { body: '{"tags":[],"scheme":2}' } },
    { name: 'records', expected: '400 id', wrong: {} },
  ];
  let right: Parts;
  before(async () => {
    const { secret } = await service.newKey(await service.newAccount());
    right = {
      method: 'POST',
      path: `/transactions/requests/${ID}/tokenize`,
      headers: { 'x-api-key': secret, 'content-type': 'application/json' },
      body: '{"tags":[],"scheme":1}',
    };
  });

  for (const [index, { name, expected }] of checks.entries()) {
    test(`${index + 1}. ${name}: ${expected}`, async () => {
      const { method, path, headers, body } = wrongFrom(checks, index, right);
      const { status, json } = await service.call(method, path, { headers, body });
      assert.match(`${status} ${json.desc}`, new RegExp(`^${expected}\\b`));
    });
  }
});

describe('the console checks in this order', () => {
  const checks: readonly Check[] = [
    { name: 'path', expected: '404 unknown_path', wrong: { path: '/api/nothing' } },
    { name: 'method', expected: '405 method_not_allowed', wrong: { method: 'PUT' } },
    {
      name: 'media type',
      expected: '415 unsupported_media_type',
      wrong: { headers: { 'content-type': 'text/plain' } },
    },
    { name: 'origin', expected: '403 cross_site', wrong: { headers: { origin: 'https://evil.example' } } },
    { name: 'cookie', expected: '401 not_signed_in', wrong: { headers: { cookie: 'none=1' } } },
    { name: 'size', expected: '413 body_too_large', wrong: { body: 'x'.repeat(LIMITS.bodyBytes + 1) } },
    { name: 'token against forgery', expected: '403 cross_site', wrong: { headers: { 'x-csrf-token': 'x' } } },
    { name: 'account', expected: '404 unknown_record', wrong: {} },
    { name: 'suspension', expected: '400 not_possible', wrong: {} },
    { name: 'step-up', expected: '403 step_up_required', wrong: {} },
    { name: 'syntax', expected: '400 malformed_json', wrong: { body: '{"name":' } },
    { name: 'fields', expected: '400 invalid_field', wrong: { body: '{"name":""}' } },
  ];
  let account: string;
  let other: string;
  before(async () => {
    account = await service.newAccount('Own');
    other = await service.newAccount('Other');
  });

  for (const [index, { name, expected }] of checks.entries()) {
    test(`${index + 1}. ${name}: ${expected}`, async () => {
      const isWrongIn = (check: string): boolean => checks.findIndex((each) => each.name === check) >= index;
      const host = `localhost:${service.ports.console}`;
      // Whose second factor was given just now.
      const owner = await newPerson(service, account, 'owner');
      const params = { account: isWrongIn('account') ? other : account, environment: 'sandbox' };
      if (isWrongIn('suspension'))
        await service.core.transactions.run({ origin: OPERATOR }, (transaction) =>
          service.core.accounts.suspend(transaction, account),
        );
      if (isWrongIn('step-up')) service.advance(AFTER_STEP_UP_MS);
      const { method, path, headers, body } = wrongFrom(checks, index, {
        method: 'POST',
        path: pathOf(createKey, { params }),
        headers: {
          host,
          origin: `https://${host}`,
          cookie: owner.cookie ?? '',
          'x-csrf-token': owner.csrf,
          'content-type': 'application/json',
        },
        body: '{"name":"x","permissions":["account:read"],"allow_list":[]}',
      });
      const { status, json } = await service.call(method, path, { environment: 'console', headers, body });
      if (isWrongIn('suspension'))
        await service.core.transactions.run({ origin: OPERATOR }, (transaction) =>
          service.core.accounts.resume(transaction, account),
        );
      // The shape of the vault stands where no route was found.
      assert.match(`${status} ${json.code ?? CODES[status]}`, new RegExp(`^${expected}$`));
    });
  }
});

const OPERATOR = { actor: { type: 'operator' as const, name: 'test' } };
const AFTER_STEP_UP_MS = 6 * MINUTE;
const CODES: Readonly<Record<number, string>> = { 404: 'unknown_path', 405: 'method_not_allowed' };
