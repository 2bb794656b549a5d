import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseReadiness } from './readiness-client.ts';

describe('the response of a service to a question about its readiness', () => {
  const parse = (body: unknown) => parseReadiness(200, JSON.stringify(body), 'AA');

  test('has the messages of its warnings', () => {
    const warnings = [{ code: 'key_rotation_due', message: '2 keys are older than their period' }];
    assert.deepEqual(parse({ status: 'ok', warnings }), {
      ...{ status: 200, fingerprint: 'AA', reason: undefined },
      warnings: ['2 keys are older than their period'],
    });
  });

  test('of another program is none, or cannot control the terminal', () => {
    for (const body of [{}, null, [], 'ok', { status: 'fine' }]) assert.equal(parse(body), undefined);
    const found = parse({
      status: 'unavailable',
      reason: '\u001b]0;title\u0007sealed',
      warnings: [
        { message: 'a\u001b[2Jb\r\nc' },
        null,
        ...Array.from({ length: 100 }, () => ({ message: 'x'.repeat(9999) })),
      ],
    });
    const shown = [found?.reason, ...(found?.warnings ?? [])].join('');
    assert.equal(/\p{C}/u.test(shown), false);
    assert.match(shown, /sealed.*a.*b.*c/);
    assert.ok(shown.length < 20_000);
  });
});
