import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Failure } from '../kernel/failure.ts';
import { listOwnAddresses, parseTargetUrl, TargetAddresses } from './target-address.ts';

const addresses = new TargetAddresses([], () => ['198.18.7.7', '8.8.4.4', 'fe80::1%eth0', '2606:4700::1']);

describe('webhooks go to', () => {
  for (const address of ['8.8.8.8', '1.1.1.1', '223.255.255.254', '2606:4700::2', '2a00:1450:4001::8', '3ffe::1'])
    test(`${address}`, () => assert.equal(addresses.isAllowed(address), true));
});

describe('webhooks do not go to', () => {
  const forbidden = [
    ...[
      '0.0.0.0',
      '0.1.2.3',
      '10.0.0.1',
      '10.255.255.255',
      '100.64.0.1',
      '100.127.255.255',
      '127.0.0.1',
      '127.255.0.1',
    ],
    ...['168.63.129.16', '169.254.169.254', '172.16.0.1', '172.31.255.255', '192.0.0.1', '192.0.2.1', '192.88.99.1'],
    ...['192.168.0.1', '198.18.0.1', '198.19.255.255', '198.51.100.1', '203.0.113.1', '224.0.0.1', '240.0.0.1'],
    ...['255.255.255.255', '::', '::1', 'fe80::1', 'fe80::1%eth0', 'fc00::1', 'fd12::1', 'ff02::1', '2001::1'],
    ...[
      '2001:1ff::1',
      '2001:db8::1',
      '2002:0a00:0001::',
      '2002:808:808::',
      '3fff::1',
      '3fff:fff::1',
      '4000::1',
      '1fff::1',
    ],
    // The IPv4 address in the last 32 bits decides.
    ...['::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:a00:1', '::ffff:0:1', '64:ff9b::10.0.0.1', '64:ff9b::a9fe:a9fe'],
    // Addresses of this machine.
    ...['8.8.4.4', '2606:4700::1', '2606:4700:0:0:0:0:0:1', '::ffff:8.8.4.4'],
    ...['', 'localhost', '127.1', '0x7f000001', '2130706433', '8.8.8.8/32', 'example.com'],
  ];
  for (const address of forbidden)
    test(`${address || 'nothing'}`, () => assert.equal(addresses.isAllowed(address), false));
});

test('an embedded public address is allowed', () => {
  assert.equal(addresses.isAllowed('::ffff:8.8.8.8'), true);
  assert.equal(addresses.isAllowed('64:ff9b::808:808'), true);
});

test('the operator allows networks, also those of this machine', () => {
  const allowed = new TargetAddresses(['127.0.0.0/8', '::1', '10.1.2.3', 'fd00::/8'], () => ['10.1.2.3']);
  for (const address of ['127.0.0.1', '::1', '10.1.2.3', 'fd00::5', '::ffff:127.0.0.9'])
    assert.equal(allowed.isAllowed(address), true, address);
  for (const address of ['10.1.2.4', '192.168.0.1', '::2']) assert.equal(allowed.isAllowed(address), false, address);
});

test('the machine lists its loopback address', () => assert.ok(listOwnAddresses().includes('127.0.0.1')));

describe('the URL of a webhook', () => {
  const parse = (url: string, environment: 'production' | 'sandbox' = 'production') =>
    parseTargetUrl(url, environment, addresses);

  test('is https, with any port, path and query', () => {
    for (const url of ['https://shop.example.com/', 'https://shop.example.com:8443/a?b=c', 'https://8.8.8.8/x'])
      assert.equal(parse(url), url);
    assert.equal(parse('https://SHOP.example.com'), 'https://shop.example.com/');
  });

  test('may contain a UUID whose digits pass as a card number', () => {
    for (const uuid of ['3f2b8c1d-0000-4000-8000-630000000004', '41111111-1117-4abc-8abc-ABCDEF000000'])
      assert.equal(parse(`https://shop.example.com/hooks/${uuid}?a`), `https://shop.example.com/hooks/${uuid}?a`);
  });

  test('is http for this machine in the sandbox alone', () => {
    const loopback = new TargetAddresses(['127.0.0.0/8', '::1'], () => []);
    for (const url of ['http://localhost:3000/', 'http://127.0.0.1:3000/', 'http://[::1]:3000/']) {
      assert.equal(parseTargetUrl(url, 'sandbox', loopback), url);
      assert.throws(() => parseTargetUrl(url, 'production', loopback), Failure);
    }
    assert.throws(() => parse('http://shop.example.com/', 'sandbox'), Failure);
  });

  const refused = [
    ...[
      '',
      'shop.example.com',
      'ftp://shop.example.com/',
      'https://user@shop.example.com/',
      'https://:p@shop.example.com/',
    ],
    ...[
      'https://shop.example.com/#a',
      'https://shop.example.com/#',
      'https://shöp.example.com/',
      'https://a b.example.com/',
    ],
    ...[
      `https://shop.example.com/${'a'.repeat(2000)}`,
      'javascript:alert(1)',
      'https://',
      'https://shop.example.com/\n',
    ],
    // Other notations of addresses that are forbidden.
    ...[
      'https://127.0.0.1/',
      'https://2130706433/',
      'https://0x7f.1/',
      'https://0177.0.0.1/',
      'https://[::1]/',
      'https://[::ffff:10.0.0.1]/',
    ],
    ...['https://169.254.169.254/latest', 'https://[fe80::1]/'],
    ...['https://shop.example.com/4111111111111111', 'https://shop.example.com/?c=%34111111111111111'],
    ...['https://shop.example.com/4111-1111-1111-1111', 'https://shop.example.com/a/4111-1111-1111-1111-abcdef123456'],
    // One malformed escape must not hide a card number behind the others, which would be in the audit log with the host.
    ...['https://%34111111111111111.example.com/%ff', 'https://shop.example.com/?c=%34111111111111111&d=%zz'],
  ];
  for (const url of refused)
    test(`is not ${JSON.stringify(url.slice(0, 60))}`, () =>
      assert.throws(
        () => parse(url),
        (error) => error instanceof Failure && error.field === 'url' && !error.message.includes('4111111'),
      ));
});
