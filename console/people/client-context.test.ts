import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LIMITS } from '../../src/kernel/limits.ts';
import { sanitizeUserAgent } from './client-context.ts';

const shown = (userAgent: string): string => sanitizeUserAgent({ address: '192.0.2.7', userAgent });

describe('the browser of a session', () => {
  it('is the one it reports', () => {
    for (const agent of [
      '',
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/146.0.7680.153 Safari/537.36',
      'Mozilla/5.0 (iPhone; CPU iPhone OS 19_6_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.6 Mobile/15E148 Safari/604.1',
      'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
    ])
      assert.equal(shown(agent), agent);
  });

  it('contains no card number, complete or cut off', () => {
    for (const card of ['4111 1111 1111 1111', '4111111111111111', '4111-1111-1111-1111'])
      assert.equal(shown(`M ${card}`), 'M 411111******1111');
    const begin = 'x'.repeat(LIMITS.userAgentCharacters - 15);
    assert.equal(shown(`${begin} 4111 1111 1111 1111`), `${begin} 411111******11`);
  });
});
