import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { CYBERSOURCE_HOSTS, CYBERSOURCE_SETTINGS } from '../../src/payments/processors/cybersource/client.ts';
import {
  ACCEPTED_STATUSES,
  DECLINE_REASONS,
  UNPROCESSED_HTTP_STATUSES,
} from '../../src/payments/processors/cybersource/mapping.ts';
import { type Reason, toFailureStatus } from '../../src/payments/transitions.ts';

const text = readFileSync(join(import.meta.dirname, '../../docs/processors/cybersource.md'), 'utf8');

/** Returns first and last cell of the rows below a heading of columns. */
function table(heading: string): [string, string][] {
  const [, after = ''] = text.split(`${heading}\n`);
  const rows = after.split('\n').slice(1);
  return rows
    .slice(
      0,
      rows.findIndex((row) => !row.startsWith('|')),
    )
    .map((row) => {
      const cells = row
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim());
      return [cells[0] ?? '', cells.at(-1) ?? ''];
    });
}

const shown = (reason: Reason | 'unknown'): string =>
  reason === 'unknown' ? 'unknown' : `${toFailureStatus(reason).status} / ${reason}`;

describe('docs/processors/cybersource.md', () => {
  test('has every reason with its meaning', () => {
    const rows = table('| Reason | Payment |').flatMap(([reasons, meaning]) =>
      [...reasons.matchAll(/`([A-Z_]+)`/g)].map(([, reason = '']) => [reason, meaning] as const),
    );
    const expected = Object.entries(DECLINE_REASONS).map(([reason, meaning]) => [reason, shown(meaning)] as const);
    assert.deepEqual([...rows].sort(), [...expected].sort());
  });

  test('has every HTTP status with its meaning', () => {
    const expected = Object.entries(UNPROCESSED_HTTP_STATUSES).map(([status, reason]) => [status, shown(reason)]);
    assert.deepEqual(
      table('| HTTP | Payment |').flatMap(([cell, meaning]) => cell.split(', ').map((status) => [status, meaning])),
      expected,
    );
  });

  test('has every setting, and states whether it is required', () => {
    const rows = Object.fromEntries(
      text
        .slice(0, text.indexOf('## Message-level encryption'))
        .split('\n')
        .flatMap((line) => {
          const [, name = '', fallback = ''] = /^\| `([a-z-]+)` \| ([^|]*) \|/.exec(line) ?? [];
          return name === '' ? [] : [[name, fallback]];
        }),
    );
    assert.deepEqual(Object.keys(rows).sort(), Object.keys(CYBERSOURCE_SETTINGS).sort());
    for (const [name, setting] of Object.entries(CYBERSOURCE_SETTINGS)) {
      const { defaultValue, required } = setting as { defaultValue?: string; required?: true };
      if (required) assert.equal(rows[name], 'required');
      if (defaultValue !== undefined) assert.equal(rows[name], `\`${defaultValue}\``);
    }
  });

  test('names exactly the hosts that production sends cards to', () => {
    const [, section = ''] = /^Hosts in production: (.*)$/m.exec(text) ?? [];
    const hosts = [...section.matchAll(/`([^`]+)`/g)].map(([, host]) => `https://${host}`);
    assert.deepEqual(hosts, CYBERSOURCE_HOSTS.production);
  });

  test('names every status of success', () => {
    for (const status of Object.values(ACCEPTED_STATUSES).flat()) assert.ok(text.includes(`\`${status}\``), status);
  });
});
