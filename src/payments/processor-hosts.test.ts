import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ProcessorHosts, parseHostEntry } from './processor-hosts.ts';

const DOCUMENTED = ['https://pay.example'];

const isAllowed = (url: string, listed: readonly string[] = []): boolean =>
  new ProcessorHosts(listed).isAllowed('production', DOCUMENTED, new URL(url));

describe('hosts of a processor in production', () => {
  test('are the documented ones, with https and the documented port only', () => {
    for (const url of ['https://pay.example/v1', 'https://PAY.example:443']) assert.ok(isAllowed(url), url);
    for (const url of [
      'http://pay.example',
      'https://pay.example:444',
      'https://pay.example.evil.test',
      'https://pay.example./',
      'https://evil.test/pay.example',
      'https://pay.example@evil.test',
      'https://127.0.0.1:8443',
      'http://localhost:8080',
    ])
      assert.ok(!isAllowed(url), url);
  });

  test('include those that the operator listed, with their port, also loopback', () => {
    const listed = ['gateway.example:443', '127.0.0.1:8443', '[::1]:80'];
    for (const url of ['https://gateway.example', 'https://127.0.0.1:8443/x', 'http://[::1]'])
      assert.ok(isAllowed(url, listed), url);
    for (const url of ['https://gateway.example:8443', 'https://127.0.0.1:8444', 'https://[::1]'])
      assert.ok(!isAllowed(url, listed), url);
  });

  test('are not restricted in the sandbox', () => {
    assert.ok(new ProcessorHosts().isAllowed('sandbox', DOCUMENTED, new URL('http://127.0.0.1:9')));
  });
});

describe('an entry of the list', () => {
  test('is a host with its port', () => {
    const entries = ['gateway.example:443', 'Gateway.Example:8443', '127.0.0.1:80', '[::1]:8443', 'a-b.c:65535'];
    for (const entry of entries) assert.equal(parseHostEntry(entry), entry.toLowerCase());
  });

  test('has no other format', () => {
    const entries = ['gateway.example', 'gateway.example:', ':443', 'gateway.example:0', 'gateway.example:65536'];
    const others = ['https://gateway.example:443', 'u@gateway.example:443', 'gateway.example/x:443', '*.example:443'];
    const notations = [
      '127.1:443',
      '::1:443',
      'gateway example:443',
      'gateway.example:0443',
      '0x7f.1:80',
      'é.example:443',
    ];
    for (const entry of [...entries, ...others, ...notations]) {
      const parsed = parseHostEntry(entry);
      assert.equal(parsed, undefined, entry);
    }
  });
});
