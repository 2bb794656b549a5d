import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { AlertEvaluation } from '../../console/alerts/alerts.ts';
import { can } from '../../console/people/roles.ts';
import { listAlerts, markAlertsSeen } from '../../console/wire/alerts.ts';
import { LogReview } from '../../src/audit/review.ts';
import type { ShippingTarget } from '../../src/audit/shipping.ts';
import { insertBackup } from '../../src/backup/backup-store.ts';
import { DAY, MINUTE } from '../../src/kernel/clock.ts';
import type { OverdueKeys } from '../../src/rotation/key-ages.ts';
import { commitOrThrow, write } from '../../src/storage/database.ts';
import { eventually } from '../fixtures/eventually.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { newMerchant } from '../interface/payment-requests.ts';
import { newPerson, type UserClient } from './console-client.ts';

interface Shown {
  readonly id: string;
  readonly account: string;
  readonly kind: string;
  readonly severity: string;
  readonly number: number;
  readonly label: string;
  readonly is_seen: boolean;
}

describe('alerts', { timeout: 120_000 }, () => {
  let service: TestService;
  /** The time that has passed for the evaluation, but not for the service, which must not evaluate as well. */
  let passed = 0;
  let overdue: OverdueKeys = { count: 0, since: undefined };
  const advance = (milliseconds: number): void => {
    passed += milliseconds;
  };
  const now = (): number => service.now() + passed;
  before(async () => {
    service = await startTestService();
    service.stopTime();
  });
  after(() => service.stop());
  beforeEach(() => {
    passed = 0;
  });

  /** Evaluates as the node does that holds the lease. */
  const evaluate = async (
    certificateEnd?: number,
    auditReceivers: readonly ShippingTarget[] = [],
    backupMaxAges = {},
  ): Promise<void> => {
    const { core } = service;
    const countOverdueKeys = async () => overdue;
    const receivers = { auditReceivers, backupMaxAges };
    const sources = { ...core, certificateEnd: () => certificateEnd, ...receivers, countOverdueKeys };
    await new AlertEvaluation({ ...core, clock: now }, sources).run();
  };

  const shownTo = async (client: UserClient): Promise<Shown[]> => (await client.call(listAlerts)).json.alerts;
  const kindsOf = async (client: UserClient): Promise<string[]> =>
    (await shownTo(client)).map(({ kind, severity }) => `${kind} ${severity}`).sort();

  test('are about payments with an unknown outcome, until these are resolved', async () => {
    const merchant = await newMerchant(service);
    const [analyst, operator] = [
      await newPerson(service, merchant.account, 'analyst'),
      await newPerson(service, '', 'operator'),
    ];
    const isDoubt = ({ kind }: Shown): boolean => kind === 'unknown-outcomes';
    const doubtsOf = async (client: UserClient): Promise<string[]> =>
      (await shownTo(client)).filter(isDoubt).map(({ kind, severity }) => `${kind} ${severity}`);
    await merchant.opened();
    const doubt = 'update payments set in_doubt_since = ? where account = ?account';
    const setDoubt = (since: number | null) =>
      commitOrThrow(service.core.database, { writes: [write(doubt, [since, merchant.account], 1)] });
    await setDoubt(now());
    await evaluate();
    assert.deepEqual(await doubtsOf(analyst), []);
    advance(3 * MINUTE);
    await evaluate();
    assert.deepEqual(await doubtsOf(analyst), ['unknown-outcomes medium']);
    const alert = (await shownTo(analyst)).find(isDoubt);
    assert.deepEqual([alert?.number, alert?.account], [1, merchant.account]);
    assert.deepEqual(await doubtsOf(operator), ['unknown-outcomes medium']);
    assert.equal((await shownTo(operator)).find(isDoubt)?.account, '');
    advance(15 * MINUTE);
    await evaluate();
    assert.deepEqual(await doubtsOf(analyst), ['unknown-outcomes high']);
    assert.equal((await shownTo(analyst)).find(isDoubt)?.id, alert?.id);
    await setDoubt(null);
    await evaluate();
    assert.deepEqual([await doubtsOf(analyst), await doubtsOf(operator)], [[], []]);
  });

  test('are about keys and certificates that expire, and are urgent in the last days', async () => {
    const account = await service.newAccount();
    const developer = await newPerson(service, account, 'developer');
    const analyst = await newPerson(service, account, 'analyst');
    const operator = await newPerson(service, '', 'operator');
    const { id } = await service.newKey(account, { permissions: ['tokens:inspect'], name: 'Shop' });
    const expire = 'update api_keys set expires_at = ? where account = ?account and id = ?';
    const setExpiry = async (at: number) =>
      commitOrThrow(service.core.database, { writes: [write(expire, [at, account, id], 1)] });
    await setExpiry(now() + 20 * DAY);
    await evaluate(now() + 40 * DAY);
    assert.deepEqual([await kindsOf(developer), await kindsOf(operator)], [[], []]);
    await setExpiry(now() + 10 * DAY);
    await evaluate(now() + 20 * DAY);
    assert.deepEqual(await kindsOf(developer), ['key-expires medium']);
    assert.equal((await shownTo(developer))[0]?.label, 'Shop');
    assert.deepEqual(await kindsOf(operator), ['tls-certificate-expires medium']);
    await setExpiry(now() + DAY);
    await evaluate(now() - DAY);
    assert.deepEqual(await kindsOf(developer), ['key-expires high']);
    assert.deepEqual(await kindsOf(operator), ['tls-certificate-expires high']);
    // Analysts see no keys, and members of other accounts nothing of this one.
    assert.deepEqual(await kindsOf(analyst), []);
    assert.deepEqual(await kindsOf(await newPerson(service, await service.newAccount(), 'owner')), []);
    advance(3 * DAY);
    await evaluate();
    assert.deepEqual([await kindsOf(developer), await kindsOf(operator)], [[], []]);
  });

  test('remind operators of keys that are older than their period', async () => {
    const operator = await newPerson(service, '', 'operator');
    overdue = { count: 3, since: now() - DAY };
    await evaluate();
    const [alert] = await shownTo(operator);
    assert.deepEqual([alert?.kind, alert?.severity, alert?.number], ['rotation-due', 'medium', 3]);
    overdue = { count: 0, since: undefined };
    await evaluate();
    assert.deepEqual(await kindsOf(operator), []);
  });

  test('are about many requests that were denied or limited, and about keys only', async () => {
    const account = await service.newAccount();
    const [developer, analyst] = [
      await newPerson(service, account, 'developer'),
      await newPerson(service, account, 'analyst'),
    ];
    const insert = `insert into request_log (account, environment, at, id, method, route, status, duration_us, request_id,
      api_key, address, repeats) values (?account, ?environment, ?, ?, 'GET', '/v1/account', ?, 1, 'r', ?, '', ?)`;
    const log = (id: number, status: number, key: string | null, repeats = 0) =>
      commitOrThrow(service.core.database, {
        writes: [write(insert, [account, 'sandbox', now(), id, status, key, repeats], 1)],
      });
    await log(1, 403, 'key_a', 10);
    await log(2, 400, 'key_a', 100);
    await log(3, 403, null, 100);
    await evaluate();
    assert.deepEqual(await kindsOf(developer), []);
    await log(4, 429, 'key_b', 8);
    await evaluate();
    assert.deepEqual(await kindsOf(developer), ['requests-refused medium']);
    assert.equal((await shownTo(developer))[0]?.number, 20);
    assert.deepEqual(await kindsOf(analyst), can('analyst', 'requests:read') ? ['requests-refused medium'] : []);
    advance(16 * MINUTE);
    await evaluate();
    assert.deepEqual(await kindsOf(developer), []);
  });

  test('report to members what an operator changed, for a week', async () => {
    const account = await service.newAccount();
    const owner = await newPerson(service, account, 'owner');
    await service.enablePayments(account);
    await evaluate();
    assert.deepEqual(await kindsOf(owner), ['settings-changed high']);
    advance(8 * DAY);
    await evaluate();
    assert.deepEqual(await kindsOf(owner), []);
  });

  test('report to operators a backup and a drill that are overdue, until there is a new one', async () => {
    const operator = await newPerson(service, '', 'operator');
    const kinds = async (): Promise<string[]> => (await kindsOf(operator)).filter((kind) => kind.includes('overdue'));
    const store = async (id: string, drillFault: string | undefined, endedAt?: number): Promise<void> => {
      const facts = { createdAt: now(), file: `/${id}`, bytes: 1, sha256: '', recipients: ['age1'], rootKey: '' };
      const drilledAt = drillFault === undefined ? undefined : now();
      const stored = { id, ...facts, drilledAt, drillFault, endedAt };
      await commitOrThrow(service.core.database, { writes: [insertBackup(stored)] });
    };
    const ages = { backup: 2 * DAY, drill: 30 * DAY };
    await evaluate(undefined, [], {});
    assert.deepEqual(await kinds(), []);
    await evaluate(undefined, [], ages);
    assert.deepEqual(await kinds(), ['backup-overdue high', 'drill-overdue high']);
    await store('faulty', 'a fault');
    await store('ended', undefined, now());
    await evaluate(undefined, [], ages);
    assert.deepEqual(await kinds(), ['backup-overdue high', 'drill-overdue high']);
    await store('undrilled', undefined);
    await evaluate(undefined, [], ages);
    assert.deepEqual(await kinds(), ['drill-overdue high']);
    await store('good', '');
    await evaluate(undefined, [], ages);
    assert.deepEqual(await kinds(), []);
    advance(3 * DAY);
    await evaluate(undefined, [], ages);
    assert.deepEqual(await kinds(), ['backup-overdue high']);
    await evaluate(undefined, [], {});
    assert.deepEqual(await kinds(), []);
  });

  test('can be marked as seen, by each user alone, and only those that the user sees', async () => {
    const account = await service.newAccount();
    const [one, other] = [await newPerson(service, account, 'owner'), await newPerson(service, account, 'auditor')];
    const stranger = await newPerson(service, await service.newAccount(), 'owner');
    await service.enablePayments(account);
    await evaluate();
    const [alert] = await shownTo(one);
    const body = { alerts: [alert?.id ?? ''] };
    await stranger.call(markAlertsSeen, { body });
    assert.deepEqual([(await shownTo(one))[0]?.is_seen, (await shownTo(other))[0]?.is_seen], [false, false]);
    assert.equal((await one.call(markAlertsSeen, { body })).status, 200);
    assert.equal((await one.call(markAlertsSeen, { body })).status, 200);
    assert.deepEqual([(await shownTo(one))[0]?.is_seen, (await shownTo(other))[0]?.is_seen], [true, false]);
    const rows = await service.core.database.read('select person from seen_alerts where account = ?account', account);
    assert.equal(rows.length, 1);
    advance(8 * DAY);
    await evaluate();
    const left = await service.core.database.read('select person from seen_alerts where account = ?account', account);
    assert.deepEqual(left, []);
  });

  test('are about what the daily review of the log finds, for a day', async () => {
    const account = await service.newAccount();
    const [owner, analyst] = [await newPerson(service, account, 'owner'), await newPerson(service, account, 'analyst')];
    const operator = await newPerson(service, '', 'operator');
    const { core } = service;
    await service.newKey(account, { environment: 'production', name: 'Shop' });
    const refusal = { outcome: 'password_wrong', actor: { type: 'unknown' }, targets: ['person:p1'] };
    const journal = Array.from({ length: 5 }, () => ({
      ...{ account, environment: '', at: now() },
      record: JSON.stringify({ action: 'person.sign-in-refused', ...refusal }),
    }));
    await commitOrThrow(core.database, { writes: [], journal });
    await new LogReview({ ...core, clock: now }).run();
    await evaluate();
    assert.deepEqual(await kindsOf(owner), ['keys-changed medium', 'sign-ins-refused high']);
    const [key, signIns] = (await shownTo(owner)).sort((a, b) => a.kind.localeCompare(b.kind));
    assert.deepEqual([key?.label, signIns?.number], ['Shop', 5]);
    assert.deepEqual(await kindsOf(analyst), ['sign-ins-refused high']);
    assert.deepEqual(await kindsOf(operator), ['operator-commands medium']);
    advance(DAY + MINUTE);
    await evaluate();
    assert.deepEqual([await kindsOf(owner), await kindsOf(operator)], [[], []]);
  });

  test('are about rows that were altered, and a log that is not sent', async () => {
    const operator = await newPerson(service, '', 'operator');
    const { database } = service.core;
    const insert =
      "insert into altered_rows (account, table_name, row_key, state, found_at) values ('a', 'accounts', '[]', ?, ?)";
    await commitOrThrow(database, { writes: [write(insert, [new Uint8Array(1), now()], 1)] });
    advance(16 * MINUTE);
    await evaluate(undefined, ['syslog', 'otlp']);
    const expected = ['audit-log-not-shipped high', 'audit-log-not-shipped high', 'rows-altered high'];
    assert.deepEqual(
      (await kindsOf(operator)).filter((kind) => expected.includes(kind)),
      expected,
    );
    await commitOrThrow(database, { writes: [write('delete from altered_rows', [])] });
    advance(MINUTE);
    await evaluate();
    assert.deepEqual(
      (await kindsOf(operator)).filter((kind) => expected.includes(kind)),
      [],
    );
  });

  test('are evaluated by the service itself', async () => {
    const other = await startTestService();
    try {
      const account = await other.newAccount();
      const owner = await newPerson(other, account, 'owner');
      await other.enablePayments(account);
      await eventually(async () => {
        other.advance(MINUTE);
        return (await kindsOf(owner)).join() === 'settings-changed high';
      });
    } finally {
      await other.stop();
    }
  });
});
