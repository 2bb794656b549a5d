import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { type AuditVault, openAuditVault } from '../../test/fixtures/audit-vault.ts';
import { DAY, HOUR, MINUTE } from '../kernel/clock.ts';
import type { ChainedRecord } from '../storage/journal.ts';
import type { AuditRecord } from './audit.ts';
import { LogReview } from './review.ts';
import { reviewRecord } from './review-rules.ts';
import { listFindings } from './review-store.ts';

const SERVICE = { type: 'service' } as const;

const linkOf = (record: object, more: Partial<ChainedRecord> = {}): ChainedRecord => ({
  ...{ account: 'acct_a', lane: 1, sequence: 1, environment: 'production', at: 5, hash: '' },
  record: JSON.stringify({ outcome: 'success', actor: SERVICE, ...record }),
  ...more,
});

const found = (record: Partial<AuditRecord>, more?: Partial<ChainedRecord>): string[] =>
  reviewRecord(linkOf(record, more)).map(
    ({ rule, account, environment, subject, label, number }) =>
      `${rule} ${account} ${environment} ${subject} ${label} ${number}`,
  );

describe('the rules of the daily review', () => {
  test('find refused sign-ins of a user, with those that were counted', () => {
    const refused = { action: 'person.sign-in-refused', outcome: 'code_wrong' } as const;
    assert.deepEqual(found({ ...refused, targets: ['person:p1'] }), ['sign-ins-refused acct_a  person:p1  1']);
    assert.deepEqual(found({ ...refused, targets: ['person:p1'], detail: { times: 7 } }), [
      'sign-ins-refused acct_a  person:p1  7',
    ]);
    assert.deepEqual(found(refused, { account: '' }), ['sign-ins-refused   person:unknown  1']);
    assert.deepEqual(found({ action: 'person.signed-in', targets: ['person:p1'] }), []);
  });

  test('find keys that are created or may do more, in production only', () => {
    const key = { targets: ['key:k1'], detail: { name: 'Shop', changed: ['permissions'] } };
    const expected = ['keys-changed acct_a production key:k1 Shop 1'];
    assert.deepEqual(found({ action: 'key.created', ...key }), expected);
    assert.deepEqual(found({ action: 'key.edited', ...key }), expected);
    assert.deepEqual(found({ action: 'key.edited', ...key, detail: { name: 'Shop', changed: ['name'] } }), []);
    assert.deepEqual(found({ action: 'key.revoked', ...key }), []);
    assert.deepEqual(found({ action: 'key.created', ...key }, { environment: 'sandbox' }), []);
  });

  test('find dual control that is switched off, exports, and commands of operators', () => {
    assert.deepEqual(found({ action: 'account.edited', detail: { dual_control: 'no' } }), [
      'dual-control-off acct_a    1',
    ]);
    assert.deepEqual(found({ action: 'account.edited', detail: { dual_control: 'yes' } }), []);
    const person = { type: 'person', id: 'p1', name: 'Ana' } as const;
    assert.deepEqual(found({ action: 'records.exported', actor: person }), [
      'data-exported acct_a  records.exported Ana 1',
    ]);
    const operator = { type: 'operator', id: 'uid:7', name: 'Ben' } as const;
    assert.deepEqual(found({ action: 'account.suspended', actor: operator }), ['operator-commands   uid:7 Ben 1']);
  });

  test('find nothing in a record that cannot be read', () => {
    for (const record of ['', '{', 'null', '[]', '{"actor":{}}', '{"action":"key.created","actor":null}'])
      assert.deepEqual(reviewRecord(linkOf({}, { record })), []);
  });
});

describe('the daily review', () => {
  let vault: AuditVault;
  let review: LogReview;
  const numbers = async (): Promise<string[]> =>
    (await listFindings(vault.database, vault.now, 100)).map(({ rule, number, since }) => `${rule} ${number} ${since}`);
  const nextMinute = async (): Promise<void> => {
    vault.now += MINUTE;
    await review.run();
  };

  beforeEach(async () => {
    vault = await openAuditVault();
    review = new LogReview({ database: vault.database, clock: () => vault.now });
  });
  afterEach(() => vault.close());

  test('counts each record once, and begins again a day after the last event', async () => {
    const start = vault.now;
    await vault.record('acct_a', 3, 'vault.backed-up');
    await nextMinute();
    await nextMinute();
    assert.deepEqual(await numbers(), [`data-exported 3 ${start}`]);
    // Another node continues from the same positions.
    review = new LogReview({ database: vault.database, clock: () => vault.now });
    vault.now += HOUR;
    await vault.record('acct_a', 1, 'vault.backed-up');
    await nextMinute();
    assert.deepEqual(await numbers(), [`data-exported 4 ${start}`]);
    vault.now += DAY + MINUTE;
    assert.deepEqual(await numbers(), []);
    const later = vault.now;
    await vault.record('acct_a', 2, 'vault.backed-up');
    await nextMinute();
    assert.deepEqual(await numbers(), [`data-exported 2 ${later}`]);
    vault.now += DAY + MINUTE;
    await nextMinute();
    assert.deepEqual(await vault.database.read('select rule from audit_findings'), []);
  });

  test('counts once when two nodes review at the same time', async () => {
    await vault.record('acct_a', 500, 'vault.backed-up');
    await vault.record('acct_b', 1, 'vault.backed-up');
    const nodes = [1, 2, 3].map(() => new LogReview({ database: vault.database, clock: () => vault.now }));
    await Promise.all(nodes.map((node) => node.run()));
    vault.now += MINUTE;
    await Promise.all(nodes.map((node) => node.run()));
    assert.deepEqual((await numbers()).map((each) => each.split(' ')[1]).sort(), ['1', '500']);
  });

  test('leaves out what is older than a day', async () => {
    await vault.record('acct_a', 2000, 'vault.backed-up');
    vault.now += 2 * DAY;
    await vault.record('acct_a', 1, 'vault.backed-up');
    await nextMinute();
    assert.deepEqual(
      (await numbers()).map((each) => each.split(' ')[1]),
      ['1'],
    );
  });
});
