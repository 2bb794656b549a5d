import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { AuditEvent } from '../../src/audit/audit.ts';
import { exportJournal, verifyJournal } from '../../src/audit/verify-journal.ts';
import { parseConfig } from '../../src/config.ts';
import { type OpenCore, openCore } from '../../src/core.ts';
import { IdempotencyKeys, type KeyedRequest, type StoredResponse } from '../../src/idempotency/idempotency-keys.ts';
import {
  type Transaction,
  type TransactionContext,
  type TransactionScope,
  Transactions,
} from '../../src/idempotency/transaction.ts';
import { SECOND } from '../../src/kernel/clock.ts';
import type { Tenant } from '../../src/kernel/environment.ts';
import { Failure } from '../../src/kernel/failure.ts';
import { type CommitResult, type Database, StorageError, type UnitOfWork, write } from '../../src/storage/database.ts';
import { insertAccounts } from '../fixtures/accounts.ts';
import { TestClock } from '../fixtures/clock.ts';
import { sharedPostgres } from '../fixtures/postgres.ts';
import { whyNoPostgres } from '../fixtures/postgres-binaries.ts';

const ACCOUNT = 'acct_transactions';
const TENANT: Tenant = { account: ACCOUNT, environment: 'sandbox' };
const CONTEXT: TransactionContext = { account: ACCOUNT, origin: { actor: { type: 'key', id: 'key_1', name: 'one' } } };
/** A claim blocks its key no longer than this after its process has ended. */
const FREE_AFTER_MS = 10 * SECOND;

/** A row of any table shows whether an effect exists. Conflicts when there is one of this name already. */
const effect = (name: string) =>
  write('insert into leases (name, owner, expires_at) values (?, ?, 1) on conflict do nothing', [name, 'test'], 1);
const event = (outcome: string): AuditEvent => ({ action: 'token.detokenized', outcome, ...TENANT });

const render = (result: string): StoredResponse => ({ status: 200, body: result });
const isLasting = ({ code }: Failure): boolean => code === 'invalid_field';
const renderFailure = ({ code, message }: Failure): StoredResponse => ({ status: 400, body: `${code}: ${message}` });

type Interceptor = (unit: UnitOfWork, commit: () => Promise<CommitResult>) => Promise<CommitResult>;

/** One process of a vault, which a test can kill: from then on nothing of it reaches the database, and it hears nothing. */
class Process {
  readonly transactions: Transactions;
  readonly counted: string[] = [];
  /** Stands between the process and its database. */
  intercept: Interceptor = (_, commit) => commit();
  commits = 0;
  #isAlive = true;

  constructor(core: OpenCore) {
    const { keyring, clock, time, random } = core;
    const guarded = <T>(act: () => Promise<T>): Promise<T> => (this.#isAlive ? act() : new Promise<T>(() => {}));
    const database: Database = Object.assign(Object.create(core.database) as Database, {
      read: (sql: string, ...values: never[]) => guarded(() => core.database.read(sql, ...values)),
      commit: (unit: UnitOfWork) =>
        guarded(() => {
          this.commits++;
          return this.intercept(unit, () => guarded(() => core.database.commit(unit)));
        }),
    });
    const idempotency = new IdempotencyKeys({ database, keyring, time, random });
    const usage = { note: (_: Tenant, counter: string, by = 1) => this.counted.push(`${counter} ${by}`) };
    this.transactions = new Transactions({ database, clock, idempotency, usage });
  }

  kill(): void {
    this.#isAlive = false;
  }
}

interface TransactionFixture {
  readonly settings: Readonly<Record<string, string>>;
  remove(): Promise<void>;
}

/** Guarantees of transactions with each database, and wherever a process ends. */
function transactionContract(name: string, newFixture: () => Promise<TransactionFixture>): void {
  describe(`transactions over ${name}`, { timeout: 240_000 }, () => {
    const clocks = new TestClock();
    let directory: string;
    let fixture: TransactionFixture;
    let core: OpenCore;
    let numbers = 0;
    const newName = (): string => `effect-${++numbers}`;
    const newProcess = (): Process => new Process(core);
    const newRequest = (key = `key-${++numbers}`, content = 'content'): KeyedRequest => ({
      tenant: TENANT,
      method: 'POST',
      path: '/v1/things',
      key,
      content: Buffer.from(content),
    });
    const hasEffect = async (effectName: string): Promise<boolean> =>
      (await core.database.read('select 1 as found from leases where name = ?', effectName)).length > 0;
    /** The outcomes of the audit records of our account. */
    const recorded = async (): Promise<string[]> => {
      const outcomes: string[] = [];
      for await (const { record } of exportJournal(core.database, ACCOUNT)) outcomes.push(JSON.parse(record).outcome);
      return outcomes;
    };
    const recordedBy = async (act: () => Promise<unknown>): Promise<string[]> => {
      const before = (await recorded()).length;
      await act();
      return (await recorded()).slice(before);
    };
    const begin = async (process: Process, request?: KeyedRequest): Promise<TransactionScope> => {
      const started = await process.transactions.begin(CONTEXT, request);
      assert.ok('scope' in started, `expected a scope, got ${JSON.stringify(started)}`);
      return started.scope;
    };
    /** The response of one request as the pipeline makes it. */
    const respond = async (
      process: Process,
      request: KeyedRequest | undefined,
      fill: (transaction: Transaction) => Promise<string>,
    ): Promise<string> => {
      const started = await process.transactions.begin(CONTEXT, request);
      if ('replay' in started) return `replayed ${started.replay.body}`;
      if ('boundTo' in started) return `bound to ${started.boundTo}`;
      try {
        return (await started.scope.finish(fill, render)).body;
      } catch (error) {
        const failure = error instanceof Failure ? error : new Failure('unavailable', { cause: error });
        await started.scope.fail(isLasting(failure) ? () => renderFailure(failure) : undefined);
        return renderFailure(failure).body;
      }
    };
    const isCode = (code: string) => (error: unknown) => error instanceof Failure && error.code === code;

    before(async () => {
      directory = mkdtempSync(join(tmpdir(), 'cardvault-transactions-'));
      fixture = await newFixture();
      const settings = { CARDVAULT_DATA_DIR: directory, CARDVAULT_CLOCK: 'system', ...fixture.settings };
      core = await openCore(parseConfig(settings), clocks);
      core.time.accept(core.time.read());
      await insertAccounts(core.database, [ACCOUNT]);
    });
    after(async () => {
      await core.close();
      await fixture.remove();
      rmSync(directory, { recursive: true, force: true });
    });

    describe('a stage', () => {
      test('commits effect, records and counts together', async () => {
        const process = newProcess();
        const effectName = newName();
        const records = await recordedBy(() =>
          process.transactions.run(CONTEXT, async (transaction) => {
            transaction.write(effect(effectName));
            transaction.record(event('one'));
            transaction.recordAlways(event('two'));
            transaction.count(TENANT, 'things', 3);
            transaction.count(TENANT, 'nothing', 0);
            assert.deepEqual(process.counted, []);
          }),
        );
        assert.deepEqual(records, ['one', 'two']);
        assert.ok(await hasEffect(effectName));
        assert.deepEqual(process.counted, ['things 3']);
        assert.equal(process.commits, 1);
      });

      test('without an effect commits nothing, and returns the result', async () => {
        const process = newProcess();
        assert.equal(await process.transactions.run(CONTEXT, async () => 'result'), 'result');
        const scope = await begin(process);
        assert.deepEqual(await scope.finish(async () => 'result', render), render('result'));
        assert.equal(process.commits, 0);
      });

      test('writes the given origin to a record, or else that of the transaction', async () => {
        const service = { actor: { type: 'service' } } as const;
        const actors: string[] = [];
        await newProcess().transactions.run(CONTEXT, async (transaction) => {
          transaction.record(event('by the key'));
          transaction.record(event('by the service'), service);
        });
        for await (const { record } of exportJournal(core.database, ACCOUNT)) {
          const { outcome, actor } = JSON.parse(record);
          if (outcome.startsWith('by the')) actors.push(`${outcome}: ${actor.type}`);
        }
        assert.deepEqual(actors, ['by the key: key', 'by the service: service']);
      });

      test('scrubs only when the transaction requests it', async () => {
        const process = newProcess();
        const scrubbed: unknown[] = [];
        process.intercept = (unit, commit) => {
          scrubbed.push(unit.scrubAfterCommit);
          return commit();
        };
        const fill = async (transaction: Transaction) => transaction.write(effect(newName()));
        await process.transactions.run(CONTEXT, fill);
        await process.transactions.run(CONTEXT, async (transaction) => {
          await fill(transaction);
          transaction.scrub();
        });
        assert.deepEqual(scrubbed, [undefined, true]);
      });

      test('runs again after a conflict, without traces of the previous attempt', async () => {
        const process = newProcess();
        const [taken, free, other] = [newName(), newName(), newName()];
        await process.transactions.run(CONTEXT, async (transaction) => transaction.write(effect(taken)));
        const attempts: number[] = [];
        const records = await recordedBy(() =>
          process.transactions.run(CONTEXT, async (transaction) => {
            attempts.push(transaction.attempt);
            transaction.write(effect(transaction.attempt === 0 ? other : newName()));
            transaction.write(effect(transaction.attempt === 0 ? taken : free));
            transaction.record(event(`attempt ${transaction.attempt}`));
            transaction.recordAlways(event(`read ${transaction.attempt}`));
            transaction.count(TENANT, `attempt ${transaction.attempt}`);
          }),
        );
        assert.deepEqual(attempts, [0, 1]);
        assert.deepEqual(records, ['attempt 1', 'read 1']);
        assert.deepEqual(process.counted, ['attempt 1 1']);
        assert.deepEqual([await hasEffect(other), await hasEffect(free)], [false, true]);
      });

      test('throws the failure of the write with the conflict, and of no other', async () => {
        const process = newProcess();
        const taken = newName();
        await process.transactions.run(CONTEXT, async (transaction) => transaction.write(effect(taken)));
        const other = newName();
        let attempts = 0;
        const run = process.transactions.run(CONTEXT, async (transaction) => {
          attempts++;
          transaction.write(effect(other), new Failure('internal'));
          transaction.write(effect(taken), new Failure('changed_meanwhile'));
        });
        await assert.rejects(run, isCode('changed_meanwhile'));
        assert.deepEqual([attempts, await hasEffect(other)], [1, false]);
      });

      test('throws the failure that is found after a conflict, or else runs again', async () => {
        const process = newProcess();
        const taken = newName();
        await process.transactions.run(CONTEXT, async (transaction) => transaction.write(effect(taken)));
        let found: Failure | undefined;
        const attempts: number[] = [];
        const fill = async (transaction: Transaction) => {
          attempts.push(transaction.attempt);
          transaction.write(effect(transaction.attempt === 0 ? taken : newName()), async () => found);
        };
        await process.transactions.run(CONTEXT, fill);
        found = new Failure('rate_limited');
        await assert.rejects(process.transactions.run(CONTEXT, fill), isCode('rate_limited'));
        assert.deepEqual(attempts, [0, 1, 0]);
      });

      test('fails as unavailable when every attempt has a conflict', async () => {
        const process = newProcess();
        process.intercept = () => Promise.resolve({ committed: false, write: 0, row: 0 });
        const run = process.transactions.run(CONTEXT, async (transaction) => transaction.write(effect(newName())));
        await assert.rejects(run, isCode('unavailable'));
      });

      test('that throws commits the records of recordAlways and nothing else', async () => {
        const process = newProcess();
        const effectName = newName();
        const error = new Failure('access_denied');
        const records = await recordedBy(() =>
          assert.rejects(
            process.transactions.run(CONTEXT, async (transaction) => {
              transaction.write(effect(effectName));
              transaction.record(event('never'));
              transaction.recordAlways(event('denied'));
              transaction.count(TENANT, 'never');
              throw error;
            }),
            error,
          ),
        );
        assert.deepEqual(records, ['denied']);
        assert.deepEqual([await hasEffect(effectName), process.counted.length], [false, 0]);
      });

      test('that is rejected after its commit has its effect, and runs again after a conflict', async () => {
        const process = newProcess();
        const [taken, effectName] = [newName(), newName()];
        await process.transactions.run(CONTEXT, async (transaction) => transaction.write(effect(taken)));
        const error = new Failure('not_possible');
        const records = await recordedBy(() =>
          assert.rejects(
            process.transactions.run(CONTEXT, async (transaction) => {
              transaction.write(effect(transaction.attempt === 0 ? taken : effectName));
              transaction.record(event(`attempt ${transaction.attempt}`));
              transaction.rejectAfterCommit(error);
            }),
            error,
          ),
        );
        assert.deepEqual(records, ['attempt 1']);
        assert.ok(await hasEffect(effectName));
        const withoutEffect = process.transactions.run(CONTEXT, async (transaction) =>
          transaction.rejectAfterCommit(error),
        );
        await assert.rejects(withoutEffect, error);
      });

      test('that cannot record its denial fails with the error of the database', async () => {
        const process = newProcess();
        process.intercept = () => Promise.reject(new StorageError('unavailable'));
        const run = process.transactions.run(CONTEXT, async (transaction) => {
          transaction.recordAlways(event('denied'));
          throw new Failure('access_denied');
        });
        await assert.rejects(run, StorageError);
      });

      test('resolves after its commit, and the next one begins with empty records', async () => {
        const process = newProcess();
        const scope = await begin(process);
        const [first, second] = [newName(), newName()];
        const records = await recordedBy(async () => {
          await scope.stage(async (transaction) => {
            transaction.write(effect(first));
            transaction.recordAlways(event('first'));
          });
          assert.ok(await hasEffect(first));
          await assert.rejects(
            scope.stage(async (transaction) => {
              transaction.write(effect(second));
              transaction.recordAlways(event('second'));
              throw new Failure('unknown_token');
            }),
          );
          await scope.fail();
        });
        assert.deepEqual(records, ['first', 'second']);
        assert.deepEqual([await hasEffect(first), await hasEffect(second)], [true, false]);
      });
    });

    describe('an Idempotency-Key', () => {
      test('replays the response of an effect, which is executed once', async () => {
        const request = newRequest();
        const effectName = newName();
        let runs = 0;
        const fill = async (transaction: Transaction) => {
          runs++;
          transaction.write(effect(effectName));
          return `response ${runs}`;
        };
        const [one, other] = [newProcess(), newProcess()];
        assert.equal(await respond(one, request, fill), 'response 1');
        assert.equal(await respond(one, request, fill), 'replayed response 1');
        assert.equal(await respond(other, request, fill), 'replayed response 1');
        assert.equal(runs, 1);
        // Claim, then effect and response in one unit; the repeat tries to claim.
        assert.equal(one.commits, 3);
      });

      test('replays the response of a request without an effect', async () => {
        const request = newRequest();
        assert.equal(await respond(newProcess(), request, async () => 'nothing'), 'nothing');
        assert.equal(await respond(newProcess(), request, async () => 'again'), 'replayed nothing');
      });

      test('stores the response of the attempt that was committed', async () => {
        const request = newRequest();
        const [taken, process] = [newName(), newProcess()];
        await process.transactions.run(CONTEXT, async (transaction) => transaction.write(effect(taken)));
        const fill = async (transaction: Transaction) => {
          transaction.write(effect(transaction.attempt === 0 ? taken : newName()));
          return `attempt ${transaction.attempt}`;
        };
        assert.equal(await respond(process, request, fill), 'attempt 1');
        assert.equal(await respond(process, request, fill), 'replayed attempt 1');
      });

      test('rejects another request with the same key', async () => {
        const request = newRequest();
        await respond(newProcess(), request, async () => 'one');
        const other = { ...request, content: Buffer.from('other') };
        await assert.rejects(newProcess().transactions.begin(CONTEXT, other), isCode('idempotency_key_reused'));
      });

      test('is claimed while a request runs, however long it takes', async () => {
        const request = newRequest();
        const process = newProcess();
        const scope = await begin(process, request);
        for (let passed = 0; passed < 30 * SECOND; passed += 2 * SECOND) {
          clocks.advance(2 * SECOND);
          await new Promise((resolve) => setTimeout(resolve, 20));
          await assert.rejects(newProcess().transactions.begin(CONTEXT, request), isCode('operation_in_progress'));
        }
        assert.equal((await scope.finish(async () => 'late', render)).body, 'late');
      });

      test('replays a permanent failure, with its records, and releases the key after any other', async () => {
        const [lasting, passing] = [newRequest(), newRequest()];
        const failing = (failure: Failure) => async (transaction: Transaction) => {
          transaction.recordAlways(event('read'));
          throw failure;
        };
        const records = await recordedBy(async () => {
          const invalid = failing(new Failure('invalid_field', { field: 'ttl' }));
          const first = await respond(newProcess(), lasting, invalid);
          assert.equal(await respond(newProcess(), lasting, invalid), `replayed ${first}`);
          const full = failing(new Failure('token_space_full'));
          await respond(newProcess(), passing, full);
          assert.equal(await respond(newProcess(), passing, async () => 'now'), 'now');
        });
        assert.deepEqual(records, ['read', 'read']);
      });

      test('replays a permanent failure that was thrown after the commit of an effect', async () => {
        const process = newProcess();
        const request = newRequest();
        const effectName = newName();
        const reject = (transaction: Transaction): Promise<string> => {
          transaction.write(effect(effectName));
          transaction.rejectAfterCommit(new Failure('invalid_field'));
          return Promise.resolve('never');
        };
        const first = await respond(process, request, reject);
        assert.match(first, /^invalid_field/);
        assert.ok(await hasEffect(effectName));
        assert.equal(await respond(process, request, reject), `replayed ${first}`);
      });

      test('that is bound waits for the result of its operation', async () => {
        const request = newRequest();
        const process = newProcess();
        const scope = await begin(process, request);
        await scope.stage(async (transaction) => {
          transaction.write(effect(newName()));
          transaction.bind('operation-1');
        });
        assert.equal(await respond(newProcess(), request, async () => 'never'), 'bound to operation-1');
        const deferred = await scope.finish(async (transaction) => {
          transaction.deferResponse();
          return 'not known yet';
        }, render);
        assert.equal(deferred.body, 'not known yet');
        assert.equal(await respond(newProcess(), request, async () => 'never'), 'bound to operation-1');
      });

      test('that is bound stores the response of the last stage, unless it is deferred', async () => {
        for (const [isDeferred, isChanged] of [
          [false, true],
          // Another process has completed the operation: its result is the response.
          [false, false],
          [true, true],
        ]) {
          const request = newRequest();
          const scope = await begin(newProcess(), request);
          await scope.stage(async (transaction) => {
            transaction.write(effect(newName()));
            transaction.bind('operation-2');
          });
          const conclude = async (transaction: Transaction) => {
            if (isChanged) transaction.write(effect(newName()));
            if (isDeferred) transaction.deferResponse();
            return 'concluded';
          };
          assert.equal((await scope.finish(conclude, render)).body, 'concluded');
          const expected = isDeferred ? 'bound to operation-2' : 'replayed concluded';
          assert.equal(await respond(newProcess(), request, async () => 'never'), expected);
        }
      });

      test('that is bound is not released by a failure, which is not stored', async () => {
        const request = newRequest();
        const scope = await begin(newProcess(), request);
        await scope.stage(async (transaction) => transaction.bind('operation-3'));
        await scope.fail(() => renderFailure(new Failure('invalid_field', { field: 'x' })));
        clocks.advance(FREE_AFTER_MS);
        assert.equal(await respond(newProcess(), request, async () => 'never'), 'bound to operation-3');
      });

      test('is not bound when the binding has a conflict', async () => {
        const request = newRequest();
        const [taken, process] = [newName(), newProcess()];
        await process.transactions.run(CONTEXT, async (transaction) => transaction.write(effect(taken)));
        const scope = await begin(process, request);
        await assert.rejects(
          scope.stage(async (transaction) => {
            transaction.write(effect(taken), new Failure('token_space_full'));
            transaction.bind('operation-4');
          }),
          isCode('token_space_full'),
        );
        await scope.fail();
        assert.equal(await respond(newProcess(), request, async () => 'first'), 'first');
      });
    });

    describe('a process that ends', () => {
      /** Starts a request that never gets past the point at which its process is killed. */
      const abandon = (work: Promise<unknown>): void => {
        work.catch(() => undefined);
      };
      const assertTakenThenFree = async (request: KeyedRequest, effectName: string): Promise<void> => {
        await assert.rejects(newProcess().transactions.begin(CONTEXT, request), isCode('operation_in_progress'));
        assert.equal(await hasEffect(effectName), false);
        clocks.advance(FREE_AFTER_MS);
        const fill = async (transaction: Transaction) => {
          transaction.write(effect(effectName));
          return 'after the crash';
        };
        assert.equal(await respond(newProcess(), request, fill), 'after the crash');
        assert.equal(await respond(newProcess(), request, fill), 'replayed after the crash');
      };

      test('before the claim stores nothing', async () => {
        const [request, effectName, process] = [newRequest(), newName(), newProcess()];
        process.kill();
        abandon(process.transactions.begin(CONTEXT, request));
        const fill = async (transaction: Transaction) => {
          transaction.write(effect(effectName));
          return 'first';
        };
        assert.equal(await respond(newProcess(), request, fill), 'first');
      });

      test('after the claim, before the commit, releases the key within 10 seconds', async () => {
        const [request, effectName, process] = [newRequest(), newName(), newProcess()];
        const scope = await begin(process, request);
        const work = scope.finish(async (transaction) => {
          transaction.write(effect(effectName));
          process.kill();
          return 'lost';
        }, render);
        abandon(work);
        await assertTakenThenFree(request, effectName);
      });

      test('while a stage runs again after a conflict, releases the key within 10 seconds', async () => {
        const [request, effectName, taken, process] = [newRequest(), newName(), newName(), newProcess()];
        await process.transactions.run(CONTEXT, async (transaction) => transaction.write(effect(taken)));
        const scope = await begin(process, request);
        const isKilled = new Promise<void>((resolve) => {
          const work = scope.finish(async (transaction) => {
            transaction.write(effect(transaction.attempt === 0 ? taken : effectName));
            if (transaction.attempt > 0) {
              process.kill();
              resolve();
            }
            return 'lost';
          }, render);
          abandon(work);
        });
        await isKilled;
        await assertTakenThenFree(request, effectName);
      });

      test('in a commit that is rolled back releases the key immediately', async () => {
        const [request, effectName, process] = [newRequest(), newName(), newProcess()];
        process.intercept = (unit, commit) =>
          unit.writes.some(({ rows }) => rows[0]?.[0] === effectName)
            ? Promise.reject(new StorageError('disk full'))
            : commit();
        const fill = async (transaction: Transaction) => {
          transaction.write(effect(effectName));
          return 'done';
        };
        assert.match(await respond(process, request, fill), /^unavailable/);
        assert.equal(await respond(newProcess(), request, fill), 'done');
      });

      test('after the intent was committed keeps the key bound to its operation', async () => {
        const [request, effectName, process] = [newRequest(), newName(), newProcess()];
        const scope = await begin(process, request);
        const records = await recordedBy(() =>
          scope.stage(async (transaction) => {
            transaction.write(effect(effectName));
            transaction.record(event('intent'));
            transaction.bind('operation-5');
          }),
        );
        process.kill();
        clocks.advance(FREE_AFTER_MS);
        assert.deepEqual([records, await hasEffect(effectName)], [['intent'], true]);
        assert.equal(await respond(newProcess(), request, async () => 'never'), 'bound to operation-5');
      });

      test('in the commit of the conclusion keeps the key bound, and stores no part of the conclusion', async () => {
        const [request, effectName, process] = [newRequest(), newName(), newProcess()];
        const scope = await begin(process, request);
        await scope.stage(async (transaction) => transaction.bind('operation-6'));
        const work = scope.finish(async (transaction) => {
          transaction.write(effect(effectName));
          process.kill();
          return 'lost';
        }, render);
        abandon(work);
        clocks.advance(FREE_AFTER_MS);
        assert.equal(await respond(newProcess(), request, async () => 'never'), 'bound to operation-6');
        assert.equal(await hasEffect(effectName), false);
      });

      test('after the commit, before the response is sent, replays it', async () => {
        const [request, effectName, process] = [newRequest(), newName(), newProcess()];
        process.intercept = async (unit, commit) => {
          const result = await commit();
          if (!unit.writes.some(({ rows }) => rows[0]?.[0] === effectName)) return result;
          process.kill();
          return new Promise(() => {});
        };
        const scope = await begin(process, request);
        const fill = async (transaction: Transaction) => {
          transaction.write(effect(effectName));
          return 'committed';
        };
        abandon(scope.finish(fill, render));
        while (!(await hasEffect(effectName))) await new Promise((resolve) => setTimeout(resolve, 5));
        assert.equal(await respond(newProcess(), request, fill), 'replayed committed');
      });

      test('after a commit whose result was unknown replays its response, although the request failed', async () => {
        const [request, effectName, process] = [newRequest(), newName(), newProcess()];
        process.intercept = async (unit, commit) => {
          const result = await commit();
          if (unit.writes.some(({ rows }) => rows[0]?.[0] === effectName)) throw new StorageError('connection lost');
          return result;
        };
        const fill = async (transaction: Transaction) => {
          transaction.write(effect(effectName));
          return 'committed';
        };
        assert.match(await respond(process, request, fill), /^unavailable/);
        assert.equal(await respond(newProcess(), request, fill), 'replayed committed');
        assert.deepEqual(process.counted, []);
      });

      test('that was stopped until its lease was lost has no effect', async () => {
        const [request, effectName, process] = [newRequest(), newName(), newProcess()];
        const scope = await begin(process, request);
        // Stopped: its renewals do not reach the database.
        process.intercept = () => Promise.resolve({ committed: true });
        clocks.advance(FREE_AFTER_MS);
        assert.equal(await respond(newProcess(), request, async () => 'another'), 'another');
        process.intercept = (_, commit) => commit();
        const work = scope.finish(async (transaction) => {
          transaction.write(effect(effectName));
          return 'late';
        }, render);
        await assert.rejects(work, isCode('operation_in_progress'));
        assert.equal(await hasEffect(effectName), false);
        await scope.fail();
        assert.equal(await respond(newProcess(), request, async () => 'never'), 'replayed another');
      });

      test('that lost its lease can neither bind the key nor store a failure', async () => {
        for (const end of ['bind', 'fail'] as const) {
          const [request, process] = [newRequest(), newProcess()];
          const scope = await begin(process, request);
          process.intercept = () => Promise.resolve({ committed: true });
          clocks.advance(FREE_AFTER_MS);
          assert.equal(await respond(newProcess(), request, async () => 'another'), 'another');
          process.intercept = (_, commit) => commit();
          const late =
            end === 'bind'
              ? scope.stage(async (transaction) => transaction.bind('operation-7'))
              : scope.fail(() => renderFailure(new Failure('invalid_field', { field: 'x' })));
          await assert.rejects(late, isCode('operation_in_progress'));
          assert.equal(await respond(newProcess(), request, async () => 'never'), 'replayed another');
        }
      });
    });

    test('leaves a log that verifies', async () => {
      assert.equal((await verifyJournal(core.database, core.journalKey)).ok, true);
    });
  });
}

transactionContract('SQLite', async () => ({ settings: {}, remove: async () => undefined }));

const absent = whyNoPostgres();
if (absent === false)
  transactionContract('PostgreSQL', async () => {
    const { newDatabase, dropDatabase } = await sharedPostgres();
    const address = await newDatabase();
    return { settings: { CARDVAULT_DATABASE_URL: address }, remove: () => dropDatabase(address) };
  });
else test('transactions over PostgreSQL', { skip: absent });
