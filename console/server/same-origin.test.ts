import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assertSameOrigin } from './same-origin.ts';

const OWN = 'https://vault.example:8445';
const request = { method: 'POST', host: 'vault.example:8445', origin: OWN, site: 'same-origin' };
const refused = (more: object, consoleUrl?: string): void =>
  assert.throws(() => assertSameOrigin({ ...request, ...more }, consoleUrl), { code: 'cross_site' });

describe('a request to the console', () => {
  test('comes from the console itself', () => {
    assert.equal(assertSameOrigin(request, undefined), OWN);
    assert.equal(assertSameOrigin({ ...request, site: undefined }, undefined), OWN);
    assert.equal(assertSameOrigin({ ...request, method: 'GET', origin: undefined }, undefined), OWN);
  });

  test('may be a link from another site, if it only reads and is not embedded', () => {
    const typed = { ...request, method: 'GET', origin: undefined, site: 'none' };
    assert.equal(assertSameOrigin(typed, undefined), OWN);
    refused({ site: 'none' });
  });

  test('from another site, another host of the same site or another port is rejected, also for reads', () => {
    for (const method of ['GET', 'POST', 'DELETE']) {
      refused({ method, site: 'cross-site', origin: undefined });
      refused({ method, site: 'same-site', origin: undefined });
      for (const origin of ['https://evil.example', 'https://vault.example', 'http://vault.example:8445', 'null', ''])
        refused({ method, origin, site: undefined });
    }
  });

  test('that changes something requires an Origin', () => {
    refused({ origin: undefined, site: undefined });
    refused({ origin: undefined });
  });

  test('requires a valid host', () => {
    for (const host of ['a b', '[::1', '%', 'x:99999', 'x/y', 'x?', 'x#', 'me@vault.example', '', 'v\u00e4ult.example'])
      refused({ method: 'GET', host, origin: undefined });
    for (const host of ['127.0.0.1:8445', '[::1]:8445', 'vault.example'])
      assert.equal(
        assertSameOrigin({ ...request, host, origin: undefined, method: 'GET' }, undefined),
        `https://${host}`,
      );
  });

  test('is compared with the address that the operator set, also behind a reverse proxy with another host', () => {
    const behind = { ...request, host: 'inside:8445' };
    assert.equal(assertSameOrigin(behind, OWN), OWN);
    refused({ ...behind, origin: 'https://inside:8445' }, OWN);
    refused({ host: undefined });
  });
});
