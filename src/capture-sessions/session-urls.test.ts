import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isAllowedOrigin, isReturnUrl, toReturnUrl } from './session-urls.ts';

describe('an origin that may frame the form', () => {
  test('is written as browsers write it', () => {
    for (const origin of [
      'https://shop.example.com',
      'https://shop.example.com:8443',
      'https://xn--bcher-kva.example',
      'https://a',
    ])
      assert.equal(isAllowedOrigin(origin, 'production'), true, origin);
  });

  const refused = [
    ...[
      '',
      'null',
      '*',
      'https://*.example.com',
      'https://shop.example.com/',
      'https://shop.example.com/a',
      'https://Shop.example.com',
    ],
    ...[
      'https://shop.example.com:443',
      'https://shop.example.com:0443',
      'https://shop.example.com:65536',
      'https://shop.example.com.',
    ],
    ...[
      'https://user@shop.example.com',
      'https://127.0.0.1',
      'https://[::1]',
      'https://1.2.3',
      'https://0x7f',
      'https://-a.example',
    ],
    ...[
      'https://a-.example',
      'https://a..example',
      'https://shop_1.example.com',
      'https://bücher.example',
      `https://${'a'.repeat(64)}.example`,
    ],
    ...[
      `https://${'a.'.repeat(127)}ab`,
      'http://shop.example.com',
      'ftp://shop.example.com',
      'https://shop.example.com ',
      '\nhttps://shop.example.com',
    ],
    ...['http://localhost:80', 'http://localhost/', 'http://[::1]:3000', 'http://127.0.0.2'],
  ];
  for (const origin of refused)
    test(`is not ${JSON.stringify(origin.slice(0, 50))}`, () =>
      assert.equal(isAllowedOrigin(origin, 'sandbox'), false));

  test('is on this machine in the sandbox alone', () => {
    for (const origin of ['http://localhost', 'http://localhost:3000', 'http://127.0.0.1:3000']) {
      assert.equal(isAllowedOrigin(origin, 'sandbox'), true, origin);
      assert.equal(isAllowedOrigin(origin, 'production'), false, origin);
    }
  });
});

test('the way back is absolute and https', () => {
  for (const url of ['https://shop.example.com/back?order=1#top', 'https://shop.example.com'])
    assert.equal(isReturnUrl(url, 'production'), true, url);
  for (const url of [
    ...[
      '',
      '/back',
      'http://shop.example.com',
      'https://u@shop.example.com',
      'https://shop.example.com/ä',
      'https://bücher.example/',
      'https://shop\t.example.com/',
      'https://shop.example.com\n',
      'https://shop.example.com ',
      'javascript:alert(1)',
      'https:shop.example.com',
      'https:/shop.example.com',
      'https:\\\\shop.example.com',
      'https://@shop.example.com',
      'https://:@shop.example.com',
      'https://shop.example.com\\@evil.example',
    ],
    ...[
      'https://shop.example.com?status=1',
      'https://shop.example.com?a=1&capture_session=2',
      'https://shop.example.com/?%73tatus=1',
    ],
    `https://shop.example.com/${'a'.repeat(2000)}`,
  ])
    assert.equal(isReturnUrl(url, 'production'), false, url);
  assert.equal(isReturnUrl('http://localhost:3000/', 'sandbox'), true);
  assert.equal(isReturnUrl('http://localhost:3000/', 'production'), false);
});

test('session and status stand behind the query and before the fragment', () => {
  const back = (url: string): string => toReturnUrl(url, 'cs_a', 'completed');
  assert.equal(back('https://a/'), 'https://a/?capture_session=cs_a&status=completed');
  assert.equal(back('https://a/?b=c%20d'), 'https://a/?b=c%20d&capture_session=cs_a&status=completed');
  assert.equal(back('https://a/?b#c#d'), 'https://a/?b&capture_session=cs_a&status=completed#c#d');
  assert.equal(back('https://a/?'), 'https://a/?capture_session=cs_a&status=completed');
});
