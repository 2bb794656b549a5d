import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { KOIN_HOSTS, KOIN_SETTINGS } from '../../src/payments/processors/koin/client.ts';
import { FAILURE_REASONS, ORDER_STATUSES } from '../../src/payments/processors/koin/mapping.ts';
import type { Setting, SettingTable } from '../../src/payments/settings.ts';
import { RESPONSE_CODES, toFailureStatus } from '../../src/payments/transitions.ts';

describe('docs/processors/koin.md', () => {
  const text = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'processors', 'koin.md'), 'utf8');
  const rows = (heading: string): string[][] => {
    const [, section = ''] = text.split(`### ${heading}\n`);
    const lines = (section.split('\n#')[0] ?? '').split('\n').filter((line) => line.startsWith('| `'));
    return lines.map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim().replaceAll('`', '')),
    );
  };

  it('has every status with its meaning', () => {
    const meanings = {
      opened: 'Opened',
      authorized: 'Authorized',
      collected: 'Collected',
      refunded: 'Collected',
      reversed: 'Cancelled or Voided',
      failed: 'Declined or ProcessorError, by reason',
    };
    assert.deepEqual(
      rows('Statuses'),
      Object.entries(ORDER_STATUSES).map(([name, kind]) => [name, meanings[kind]]),
    );
  });

  it('has every reason with status, reason and response code', () => {
    assert.deepEqual(
      rows('Reasons'),
      Object.entries(FAILURE_REASONS).map(([name, reason]) => [
        name,
        toFailureStatus(reason).status,
        reason,
        RESPONSE_CODES[reason],
      ]),
    );
  });

  it('names exactly the hosts that production sends cards to', () => {
    const [, section = ''] = /^Hosts in production: (.*)$/m.exec(text) ?? [];
    const hosts = [...section.matchAll(/`([^`]+)`/g)].map(([, host]) => `https://${host}`);
    assert.deepEqual(hosts, Object.values(KOIN_HOSTS.production));
  });

  it('has every setting, with its default', () => {
    const [, section = ''] = text.split('| Setting |');
    const lines = (section.split('\n\n')[0] ?? '').split('\n').filter((line) => line.startsWith('| `'));
    const documented = lines.map((line) => /^\| `([a-z-]+)` \| `?([^|]*?)`? \|/.exec(line)?.slice(1) ?? [line]);
    const names = documented.map(([name]) => name);
    assert.deepEqual([...names].sort(), Object.keys(KOIN_SETTINGS).sort());
    for (const [name = '', fallback] of documented) {
      const setting: Setting | undefined = (KOIN_SETTINGS as SettingTable)[name];
      if (setting?.required) assert.equal(fallback, 'required');
      if (setting?.defaultValue !== undefined) assert.equal(fallback, setting.defaultValue);
    }
  });
});
