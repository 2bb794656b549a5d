import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { FAILURES } from '../src/kernel/failure.ts';
import { REASONS } from '../src/kernel/reasons.ts';

/**
 * The texts of the API and the command line as they were last recorded. Merchants' software and operators' scripts may
 * compare them, so a change has to be intended: run this file with `RECORD_TEXTS=1`, and describe the change in CHANGELOG.md.
 */
const FILE = join(import.meta.dirname, 'recorded-texts.txt');

const catalogue = Object.entries({ ...FAILURES, ...REASONS })
  .map(([name, text]) => `${name}: ${text}\n`)
  .sort()
  .join('');

describe('the texts of failures and reasons', () => {
  it('are those that were recorded', () => {
    if (process.env['RECORD_TEXTS'] === '1') writeFileSync(FILE, catalogue);
    assert.equal(catalogue, readFileSync(FILE, 'utf8'));
  });

  it('have names that differ between failures and reasons', () => {
    assert.deepEqual(
      Object.keys(FAILURES).filter((name) => Object.hasOwn(REASONS, name)),
      [],
    );
  });
});
