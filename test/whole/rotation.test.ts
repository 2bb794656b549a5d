import assert from 'node:assert/strict';
import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { existsSync, linkSync, readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { Authentication } from '../../src/accounts/authentication.ts';
import type { OpenCore } from '../../src/core.ts';
import { previousPath } from '../../src/crypto/custody/replacement.ts';
import { type Custody, keyCheckValue } from '../../src/crypto/custody.ts';
import { UnsealError } from '../../src/crypto/seal.ts';
import { replaceAtomically } from '../../src/crypto/secret-file.ts';
import type { KeyScope } from '../../src/crypto/wrapped-key.ts';
import { DAY } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { rotateApiKeyDigests } from '../../src/rotation/api-key-rotation.ts';
import { startDataRotations } from '../../src/rotation/data-rotation.ts';
import { DestroyedKeys } from '../../src/rotation/destroyed-keys.ts';
import {
  destroyFormerRootKey,
  destroyKeys,
  findRootDestruction,
  listDestructionCandidates,
} from '../../src/rotation/destruction.ts';
import { startDigestRotations } from '../../src/rotation/digest-rotation.ts';
import { rotateInEmergency } from '../../src/rotation/emergency.ts';
import { KeyAges } from '../../src/rotation/key-ages.ts';
import { listKeyStates } from '../../src/rotation/key-states.ts';
import { rotateRootKey } from '../../src/rotation/root-rotation.ts';
import { rotateWrappingKey } from '../../src/rotation/wrapping-rotation.ts';
import { commitOrThrow, type Database, text, type UnitOfWork, write } from '../../src/storage/database.ts';
import { findRotation, listRotations } from '../../src/storage/key-rotation-store.ts';
import type { SealedColumns } from '../../src/storage/sealed-columns.ts';
import { listKeysByPurpose, listWrappedKeys } from '../../src/storage/wrapped-key-store.ts';
import {
  COLUMNS,
  insertSealedRows,
  newAccount,
  newRotatingVault,
  ORIGIN,
  openSealedRows,
  plaintextOf,
  RotatingVault,
  rowsOf,
  SEALED,
  sealUnder,
} from '../fixtures/rotation.ts';
import { ALL_TABLES } from '../fixtures/tables.ts';
import { inScope } from '../scope.ts';

const ROWS = 23;
const SERVICE: KeyScope = { account: '', environment: 'service' };
const scopeOf = (columns: SealedColumns, account: string): KeyScope =>
  columns.scope === 'service' ? SERVICE : { account, environment: 'sandbox' };
const tokensTable = SEALED.find(({ table }) => table === 'tokens') as SealedColumns;

/** Columns with bytes that are no sealed values: digests, MACs, wrapped keys, sort keys and keys of hours. */
const UNSEALED = [
  'wrapped_keys.wrapped',
  'journal_heads.seal',
  'lane_register.seal',
  'verified_heads.mac',
  'verifications.mac',
  'altered_rows.state',
  'clock_records.mac',
  'sad_keys.wrapped',
  'accounts.mac',
  'enablements.mac',
  'api_keys.digest',
  'api_keys.mac',
  'tokens.slot',
  'tokens.fingerprint',
  'tokens.next_fingerprint',
  'tokens.search',
  'token_tags.tag',
  'token_tags.slot',
  'token_uses.slot',
  'captures.sad',
  'captures.fingerprint',
  'idempotency.id',
  'idempotency.request',
  'payments.notification_digest',
  'people.email',
  'memberships.mac',
  'invitations.digest',
  'sessions.digest',
  'sessions.activity_mac',
  'imports.id',
  'import_batches.import',
  'audit_checkpoints.signature',
  'audit_beginnings.signature',
  'capture_sessions.secret',
];

const auditRecords = async (database: Database, action: string): Promise<Record<string, unknown>[]> => {
  const rows = await database.read('select record from journal order by account, lane, sequence');
  return rows
    .map((row) => JSON.parse(text(row, 'record')) as Record<string, unknown>)
    .filter((record) => record['action'] === action);
};

/** Rows that are sealed under the key `tokens`: tokens, and the retention rule. */
const SEALED_BY_TOKENS = SEALED.filter(({ purpose }) => purpose === 'tokens').reduce(
  (sum, columns) => sum + rowsOf(columns, ROWS),
  0,
);

test('every column with bytes is declared as sealed, or known to be none', () => {
  const declared = SEALED.flatMap(({ table, contexts }) => Object.keys(contexts).map((column) => `${table}.${column}`));
  const blobs = ALL_TABLES.flatMap(({ name, columns }) =>
    Object.entries(columns)
      .filter(([, kind]) => kind === 'blob')
      .map(([column]) => `${name}.${column}`),
  );
  assert.deepEqual([...declared, ...UNSEALED].sort(), blobs.sort());
});

/** In `npm test` two nodes over PostgreSQL rotate the same keys, see `nodes-rotation.test.ts`. */
const KINDS = inScope<readonly ('sqlite' | 'postgres')[]>({ usual: ['sqlite'], long: ['sqlite', 'postgres'] });

for (const kind of KINDS) {
  describe(`data keys over ${kind}`, { timeout: 120_000 }, () => {
    let vault: RotatingVault;
    let core: OpenCore;
    let account: string;
    before(async () => {
      vault = await newRotatingVault(kind);
      core = await vault.open();
      account = await newAccount(core);
      for (const columns of SEALED) await insertSealedRows(core, columns, scopeOf(columns, account), ROWS);
    });
    after(() => vault.end());

    test('every row of every table is sealed again, and opens to the same text', async () => {
      const started = await startDataRotations(vault.services(core), ORIGIN, {});
      assert.equal(started.length, new Set(SEALED.map(({ purpose }) => purpose)).size);
      assert.ok(started.every(({ version, isContinued }) => version === 2 && !isContinued));
      // Steps that are smaller than the tables.
      await vault.resealing(core, { rate: 100 }).run();
      await vault.finish(core);
      const keys = await listWrappedKeys(core.database);
      for (const columns of SEALED) {
        const { texts, keys: used } = await openSealedRows(core, columns, scopeOf(columns, account));
        const expected = Object.keys(columns.contexts).flatMap((column) =>
          Array.from({ length: rowsOf(columns, ROWS) }, (_, index) => plaintextOf(columns, column, index)),
        );
        assert.deepEqual(texts, expected.sort(), columns.table);
        const newest = keys.findLast(
          ({ purpose, account: owner }) => purpose === columns.purpose && (columns.scope === 'service' || owner !== ''),
        );
        assert.deepEqual([...used], [newest?.id], columns.table);
      }
      for (const each of await listRotations(core.database))
        assert.deepEqual([each.finishedAt !== undefined, each.leftOver], [true, 0]);
    });

    test('the status counts what is sealed under each version', async () => {
      const states = await listKeyStates(vault.services(core));
      const tokens = states.filter(({ key }) => key.purpose === 'tokens');
      assert.deepEqual(
        tokens.map(({ key, state, dependents }) => [key.version, state, dependents]),
        [
          [1, 'retiring', 0],
          [2, 'current', SEALED_BY_TOKENS],
        ],
      );
      assert.ok(states.every(({ key }) => /^[0-9a-f]{8}$/.test(key.checkValue)));
      assert.equal(new Set(states.map(({ key }) => key.checkValue)).size, states.length);
    });

    test('start and end are in the audit log', async () => {
      const [rotated] = await auditRecords(core.database, 'keyring.rotated');
      assert.match(
        JSON.stringify(rotated),
        /"targets":\["data-key:[0-9a-f]{16}"\].*"replaces_check_value":"[0-9a-f]{8}"/,
      );
      const finished = await auditRecords(core.database, 'keyring.rotation-finished');
      assert.ok(finished.some(({ detail }) => JSON.stringify(detail).includes(`"resealed":${ROWS}`)));
    });

    test('an interrupted rotation continues where it was, also in another process', async () => {
      await startDataRotations(vault.services(core), ORIGIN, { account, purpose: 'tokens' });
      let steps = 0;
      const interrupted = vault.resealing(core, {
        rate: 50,
        pause: async () => {
          if (++steps === 3) throw new Error('killed');
        },
      });
      vault.clock.advance(LIMITS.keyRefreshMs);
      await assert.rejects(interrupted.run(), /killed/);
      const owner = { account, environment: 'sandbox', purpose: 'tokens' } as const;
      const left = await findRotation(core.database, owner);
      assert.deepEqual([left?.position?.table, left?.resealed], ['tokens', 15]);
      const again = await startDataRotations(vault.services(core), ORIGIN, { account, purpose: 'tokens' });
      assert.deepEqual(
        again.map(({ version, isContinued }) => [version, isContinued]),
        [[3, true]],
      );
      const other = await vault.open();
      await vault.finish(other);
      assert.equal((await findRotation(other.database, owner))?.resealed, SEALED_BY_TOKENS);
    });

    test('a row that a request changes in the meantime keeps what the request wrote', async () => {
      const owner = { account, environment: 'sandbox', purpose: 'tokens' } as const;
      await startDataRotations(vault.services(core), ORIGIN, { account, purpose: 'tokens' });
      vault.clock.advance(LIMITS.keyRefreshMs);
      const { rows } = await openSealedRows(core, tokensTable, owner);
      const row = rows[0] ?? {};
      let isChanged = false;
      const commit = async (unit: UnitOfWork) => {
        if (!isChanged) {
          isChanged = true;
          const seal = await core.keyring.sealer(owner, 'tokens', 1);
          const context = tokensTable.contexts['record']?.(row);
          assert.ok(context);
          const changed = seal(context, 'changed by a request');
          const sql = 'update tokens set record = ?, revision = revision + 1 where account = ?account and slot = ?';
          await commitOrThrow(core.database, { writes: [write(sql, [changed, account, row['slot'] ?? null], 1)] });
        }
        return core.database.commit(unit);
      };
      const database = new Proxy(core.database, {
        get: (target, name) => {
          const value = name === 'commit' ? commit : Reflect.get(target, name);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
      await vault.resealing(core, { database }).run();
      await vault.finish(core);
      assert.ok(isChanged);
      const { texts, keys } = await openSealedRows(core, tokensTable, owner);
      assert.equal(texts.length, ROWS);
      assert.equal(texts.filter((each) => each === 'changed by a request').length, 1);
      assert.equal(keys.size, 1);
    });

    test('another process seals under the new version within seconds, and what it sealed before is found', async () => {
      const other = await vault.open();
      await insertSealedRows(other, tokensTable, { account, environment: 'sandbox' }, 1);
      const [started] = await startDataRotations(vault.services(core), ORIGIN, { account, purpose: 'tokens' });
      // The other process does not know yet.
      await insertSealedRows(other, tokensTable, { account, environment: 'sandbox' }, 1);
      await vault.resealing(core).run();
      await insertSealedRows(other, tokensTable, { account, environment: 'sandbox' }, 1);
      vault.clock.advance(LIMITS.keyRefreshMs);
      await vault.finish(core);
      const keys = await core.keyring.sealer({ account, environment: 'sandbox' }, 'tokens', 1);
      assert.ok(keys);
      const opened = await openSealedRows(other, tokensTable, { account, environment: 'sandbox' });
      assert.equal(opened.texts.length, ROWS + 3);
      const newest = (await listWrappedKeys(core.database)).findLast(({ purpose }) => purpose === 'tokens');
      assert.equal(newest?.version, started?.version);
      assert.deepEqual([...opened.keys], [newest?.id]);
    });

    test('two processes that work at the same time lose nothing', async () => {
      const other = await vault.open();
      await startDataRotations(vault.services(core), ORIGIN, {});
      vault.clock.advance(LIMITS.keyRefreshMs);
      await Promise.all([core, other].map((each) => vault.resealing(each, { rate: 70 }).run()));
      await vault.finish(other);
      for (const columns of SEALED) {
        const { keys, texts } = await openSealedRows(core, columns, scopeOf(columns, account));
        assert.equal(keys.size, 1, columns.table);
        assert.ok(texts.length >= rowsOf(columns, ROWS));
      }
    });
  });

  describe(`wrapping keys over ${kind}`, { timeout: 120_000 }, () => {
    let vault: RotatingVault;
    let core: OpenCore;
    let account: string;
    before(async () => {
      vault = await newRotatingVault(kind);
      core = await vault.open();
      account = await newAccount(core);
      await insertSealedRows(core, tokensTable, { account, environment: 'sandbox' }, 3);
    });
    after(() => vault.end());

    test('all data keys are wrapped again, and running processes continue', async () => {
      const running = await vault.open();
      const before = await listWrappedKeys(core.database);
      const done = await rotateWrappingKey(vault.services(core), ORIGIN, 'sandbox');
      assert.equal(done.version, 2);
      assert.equal(
        done.rewrapped,
        before.filter((key) => key.environment === 'sandbox' && key.purpose !== 'wrapping').length,
      );
      // A key that a running process adds is under the new version.
      await insertSealedRows(running, SEALED[0] as SealedColumns, { account, environment: 'sandbox' }, 1);
      for (const each of [running, await vault.open()])
        assert.equal((await openSealedRows(each, tokensTable, { account, environment: 'sandbox' })).texts.length, 3);
      const states = await listKeyStates(vault.services(core));
      const wrapping = states.filter(({ key }) => key.purpose === 'wrapping' && key.environment === 'sandbox');
      assert.deepEqual(
        wrapping.map(({ state, dependents }) => [state, dependents === 0]),
        [
          ['retiring', true],
          ['current', false],
        ],
      );
    });

    test('a rotation that ended in its middle continues with the same version', async () => {
      const database = new Proxy(core.database, {
        get: (target, name) => {
          const value = Reflect.get(target, name);
          if (name === 'commit')
            return (unit: UnitOfWork) =>
              unit.writes.some(({ sql }) => sql.startsWith('update wrapped_keys set wrapped'))
                ? Promise.reject(new Error('killed'))
                : target.commit(unit);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
      const services = vault.services(core);
      await assert.rejects(rotateWrappingKey({ ...services, database }, ORIGIN, 'sandbox'), /killed/);
      const done = await rotateWrappingKey(services, ORIGIN, 'sandbox');
      assert.deepEqual([done.version, done.isContinued], [3, true]);
      const again = await rotateWrappingKey(services, ORIGIN, 'service');
      assert.deepEqual([again.version, again.isContinued], [2, false]);
      assert.equal(
        (await openSealedRows(await vault.open(), tokensTable, { account, environment: 'sandbox' })).texts.length,
        3,
      );
    });
  });

  describe(`the root key over ${kind}`, { timeout: 120_000 }, () => {
    let vault: RotatingVault;
    let core: OpenCore;
    let account: string;
    before(async () => {
      vault = await newRotatingVault(kind);
      core = await vault.open();
      account = await newAccount(core);
      await insertSealedRows(core, tokensTable, { account, environment: 'sandbox' }, 3);
    });
    after(() => vault.end());

    const opens = async (each: OpenCore): Promise<boolean> =>
      (await openSealedRows(each, tokensTable, { account, environment: 'sandbox' })).texts.length === 3;

    test('a stored root key that the database does not know yet changes nothing', async () => {
      const prepared = await rotateRootKey(vault.services(core), ORIGIN, { onlyPrepare: true });
      assert.equal(prepared.state, 'prepared');
      assert.equal(prepared.previousCheckValue, keyCheckValue(core.root));
      const started = await vault.open();
      assert.equal(keyCheckValue(started.root), prepared.previousCheckValue);
      assert.ok(await opens(started));
    });

    test('a repeat completes it: one commit wraps the wrapping keys under the stored one', async () => {
      const present = await vault.open();
      const before = await listKeysByPurpose(core.database, 'wrapping');
      const done = await rotateRootKey(vault.services(present), ORIGIN);
      assert.equal(done.state, 'rotated');
      const wrapping = await listKeysByPurpose(core.database, 'wrapping');
      assert.deepEqual(
        wrapping.map(({ id }) => id),
        before.map(({ id }) => id),
      );
      assert.ok(
        wrapping.every(({ wrapped }, index) => !Buffer.from(wrapped).equals(before[index]?.wrapped ?? wrapped)),
      );
      const started = await vault.open();
      assert.equal(keyCheckValue(started.root), done.checkValue);
      assert.ok(await opens(started));
      assert.ok(existsSync(`${vault.rootKeyFile}.previous`));
    });

    test('a repeat after the commit replaces nothing', async () => {
      const started = await vault.open();
      const again = await rotateRootKey(vault.services(started), ORIGIN);
      assert.deepEqual([again.state, again.checkValue], ['rotated-before', keyCheckValue(started.root)]);
    });

    test('a process with the former key continues, and reads the new one when a key requires it', async () => {
      assert.ok(await opens(core));
      await insertSealedRows(core, SEALED[0] as SealedColumns, { account, environment: 'sandbox' }, 1);
      const started = await vault.open();
      await rotateWrappingKey(vault.services(started), ORIGIN, 'sandbox');
      // The new version is under the new root key.
      await insertSealedRows(core, SEALED[1] as SealedColumns, { account, environment: 'sandbox' }, 1);
      const done = await rotateWrappingKey(vault.services(core), ORIGIN, 'production');
      assert.equal(done.version, 2);
      assert.ok(await opens(await vault.open()));
    });

    test('a version of a wrapping key that is added meanwhile prevents the commit', async () => {
      const started = await vault.open();
      await destroyFormerRootKey(vault.services(started), ORIGIN, { now: true });
      const racing = vault.services(started);
      let isAdded = false;
      const transactions = new Proxy(racing.transactions, {
        get: (target, name) => {
          const value = Reflect.get(target, name);
          if (name !== 'run') return typeof value === 'function' ? value.bind(target) : value;
          return (context: never, fill: (transaction: never) => Promise<unknown>) =>
            target.run(context, async (transaction) => {
              const filled = await fill(transaction as never);
              if (!isAdded) {
                isAdded = true;
                await rotateWrappingKey(vault.services(core), ORIGIN, 'service');
              }
              return filled;
            });
        },
      });
      const done = await rotateRootKey({ ...racing, transactions }, ORIGIN);
      assert.equal(done.state, 'rotated');
      assert.ok(isAdded);
      const after = await vault.open();
      assert.equal(keyCheckValue(after.root), done.checkValue);
      assert.ok(await opens(after));
    });
  });

  describe(`rotations of the root key that meet over ${kind}`, { timeout: 120_000 }, () => {
    let vault: RotatingVault;
    before(async () => {
      vault = await newRotatingVault(kind);
      await vault.open();
    });
    after(() => vault.end());

    const writeRootKey = (key: KeyObject): void =>
      replaceAtomically(vault.rootKeyFile, `${key.export().toString('hex')}\n`);
    /** Opens the vault when no replacement is unfinished. */
    const openRotatable = async (): Promise<OpenCore> => {
      const core = await vault.open();
      await destroyFormerRootKey(vault.services(core), ORIGIN, { now: true });
      return core;
    };

    test('one that begins between the steps of another changes nothing', async () => {
      const [first, second] = [await vault.open(), await vault.open()];
      const [linked, resumed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const custody: Custody = {
        ...first.custody,
        // The disk hangs between the two steps of the replacement.
        replaceRootKey: async (next) => {
          linkSync(vault.rootKeyFile, previousPath(vault.rootKeyFile));
          linked.resolve();
          await resumed.promise;
          writeRootKey(next);
        },
      };
      const rotating = rotateRootKey({ ...vault.services(first), custody }, ORIGIN);
      await linked.promise;
      await assert.rejects(
        rotateRootKey(vault.services(second), ORIGIN),
        /another command is changing the files of the root key/,
      );
      resumed.resolve();
      const done = await rotating;
      assert.equal(done.state, 'rotated');
      assert.equal(keyCheckValue((await vault.open()).root), done.checkValue);
    });

    test('one that opened the vault before another replaces nothing', async () => {
      const stale = await openRotatable();
      await rotateRootKey(vault.services(await vault.open()), ORIGIN);
      await openRotatable();
      await assert.rejects(
        rotateRootKey(vault.services(stale), ORIGIN),
        /another command replaced the root key meanwhile/,
      );
      assert.ok(!existsSync(previousPath(vault.rootKeyFile)));
    });

    test('one whose key another machine has overwritten commits nothing, and a repeat continues with the other key', async () => {
      const core = await openRotatable();
      const other = createSecretKey(randomBytes(32));
      const custody: Custody = {
        ...core.custody,
        replaceRootKey: async (next) => {
          await core.custody.replaceRootKey(next);
          writeRootKey(other);
        },
      };
      await assert.rejects(
        rotateRootKey({ ...vault.services(core), custody }, ORIGIN),
        /custody has another root key than the one that was prepared/,
      );
      const opened = await vault.open();
      assert.equal(keyCheckValue(opened.root), keyCheckValue(core.root));
      const done = await rotateRootKey(vault.services(opened), ORIGIN);
      assert.deepEqual([done.state, done.checkValue], ['rotated', keyCheckValue(other)]);
      assert.equal(keyCheckValue((await vault.open()).root), keyCheckValue(other));
    });

    test('one whose key only the memory of a node has commits nothing', async () => {
      const core = await openRotatable();
      const custody: Custody = { ...core.custody, readKeyCheckValue: () => 'ffffffff' };
      await assert.rejects(
        rotateRootKey({ ...vault.services(core), custody }, ORIGIN),
        /custody has another root key than the one that was prepared/,
      );
      assert.equal(keyCheckValue((await vault.open()).root), keyCheckValue(core.root));
    });
  });

  describe(`destruction over ${kind}`, { timeout: 120_000 }, () => {
    let vault: RotatingVault;
    let core: OpenCore;
    let account: string;
    const owner = (): KeyScope => ({ account, environment: 'sandbox' });
    const obstacles = async (now: boolean): Promise<(string | undefined)[]> =>
      (await listDestructionCandidates(vault.services(core), { now })).map(({ obstacle }) => obstacle);
    before(async () => {
      vault = await newRotatingVault(kind);
      core = await vault.open();
      account = await newAccount(core);
      await insertSealedRows(core, tokensTable, owner(), ROWS);
      await startDataRotations(vault.services(core), ORIGIN, {});
    });
    after(() => vault.end());

    test('waits for the rotation, for time, for a newer backup and for the end of older ones', async () => {
      assert.deepEqual(await obstacles(true), ['its rotation is not finished']);
      await vault.finish(core);
      assert.deepEqual(await obstacles(true), ['it was replaced less than 60 seconds ago']);
      vault.clock.advance(LIMITS.keyRetirementMs);
      vault.backups = [{ id: 'old', createdAt: vault.clock.clock() - LIMITS.keyRetirementMs * 2, file: 'old.age' }];
      assert.deepEqual(await obstacles(false), ['there is no verified backup from after its rotation']);
      vault.backups = [...vault.backups, { id: 'new', createdAt: vault.clock.clock(), file: 'new.age' }];
      assert.deepEqual(await obstacles(false), ['1 backups from before its rotation have not ended']);
      assert.deepEqual(await destroyKeys(vault.services(core), ORIGIN, { now: false }), []);
      assert.deepEqual(await obstacles(true), [undefined]);
    });

    test('a row that came back keeps the key, and its rotation continues', async () => {
      const old = (await listKeyStates(vault.services(core))).find(({ state }) => state === 'retiring')?.key;
      assert.ok(old);
      const { rows } = await openSealedRows(core, tokensTable, owner());
      const row = rows[0] ?? {};
      const context = tokensTable.contexts['record']?.(row);
      assert.ok(context);
      // A request that was suspended since before the rotation commits this.
      const late = await sealUnder(core, owner(), old.id, context, 'late');
      const sql = 'update tokens set record = ? where account = ?account and slot = ?';
      await commitOrThrow(core.database, { writes: [write(sql, [late, account, row['slot'] ?? null], 1)] });
      assert.deepEqual(await obstacles(true), ['1 records or keys are still sealed under it']);
      assert.deepEqual(await destroyKeys(vault.services(core), ORIGIN, { now: true }), []);
      await vault.finish(core);
      assert.deepEqual(await obstacles(true), [undefined]);
      assert.ok((await openSealedRows(core, tokensTable, owner())).texts.includes('late'));
    });

    test('an altered row does not keep the key, and is counted in the evidence', async () => {
      const { rows } = await openSealedRows(core, tokensTable, owner());
      const old = (await listKeyStates(vault.services(core))).find(({ state }) => state === 'retiring')?.key;
      const altered = Buffer.from(rows[1]?.['record'] as Uint8Array);
      Buffer.from(old?.id ?? '', 'hex').copy(altered, 1);
      const sql = 'update tokens set record = ? where account = ?account and slot = ?';
      await commitOrThrow(core.database, { writes: [write(sql, [altered, account, rows[1]?.['slot'] ?? null], 1)] });
      const other = await vault.open();
      const [destroyed] = await destroyKeys(vault.services(core), ORIGIN, { now: true });
      assert.deepEqual([destroyed?.key.id, destroyed?.leftOver], [old?.id, 1]);
      const [key] = (await listWrappedKeys(core.database)).filter(({ destroyedAt }) => destroyedAt !== undefined);
      assert.deepEqual([key?.wrapped.length, key?.checkValue], [0, old?.checkValue]);
      const [record] = await auditRecords(core.database, 'keyring.destroyed');
      const detail = record?.['detail'] as Record<string, unknown>;
      assert.deepEqual(
        [detail['check_value'], detail['left_over'], detail['waited_for_backup'], detail['backups']],
        [old?.checkValue, 1, 'no', ['old old.age']],
      );
      await new DestroyedKeys(other).forget();
      const context = tokensTable.contexts['record']?.(rows[1] ?? {});
      assert.ok(context);
      await assert.rejects(other.keyring.unseal(owner(), 'tokens', context, altered), UnsealError);
      const seal = await core.keyring.sealer(owner(), 'tokens', 1);
      const values = [seal(context, 'again'), account, rows[1]?.['slot'] ?? null];
      await commitOrThrow(core.database, { writes: [write(sql, values, 1)] });
    });

    test('the wrapped key is in no file any more', { skip: kind !== 'sqlite' }, async () => {
      await startDataRotations(vault.services(core), ORIGIN, {});
      const [old] = (await listWrappedKeys(core.database)).filter(
        ({ purpose, destroyedAt }) => purpose === 'tokens' && destroyedAt === undefined,
      );
      await vault.finish(core);
      vault.clock.advance(LIMITS.urgentKeyRetirementMs);
      const isStored = (): boolean =>
        ['', '-wal'].some((suffix) => {
          const file = `${vault.folder}/cardvault.db${suffix}`;
          return existsSync(file) && readFileSync(file).includes(Buffer.from(old?.wrapped ?? []));
        });
      assert.ok(isStored());
      await destroyKeys(vault.services(core), ORIGIN, { now: true });
      await core.database.scrub();
      assert.ok(!isStored());
    });

    test('the former root key waits for backups, and its destruction names those that become unreadable', async () => {
      const started = await vault.open();
      await rotateRootKey(vault.services(started), ORIGIN);
      const renewed = vault.services(await vault.open());
      vault.clock.advance(1);
      assert.match((await findRootDestruction(renewed, { now: false })).obstacle ?? '', /no verified backup/);
      await assert.rejects(
        destroyFormerRootKey(renewed, ORIGIN, { now: false }),
        /is kept: there is no verified backup/,
      );
      const done = await destroyFormerRootKey(renewed, ORIGIN, { now: true });
      assert.deepEqual(
        done.backups.map(({ id }) => id),
        ['old', 'new'],
      );
      assert.ok(!existsSync(`${vault.rootKeyFile}.previous`));
      assert.deepEqual((await destroyFormerRootKey(renewed, ORIGIN, { now: true })).checkValue, undefined);
      assert.equal((await openSealedRows(await vault.open(), tokensTable, owner())).rows.length, ROWS);
    });
  });
}

test('digests of API keys are replaced when the keys are used', { timeout: 60_000 }, async () => {
  const vault = new RotatingVault();
  try {
    const core = await vault.open();
    const other = await vault.open();
    const account = await newAccount(core);
    const newKey = async (name: string) => {
      const traits = {
        ...{ name, description: '', permissions: [], expiresAt: undefined },
        allowList: [{ cidr: '127.0.0.1', note: '' }],
      };
      return core.transactions.run({ origin: ORIGIN }, (transaction) =>
        core.accounts.createKey(transaction, account, 'sandbox', traits),
      );
    };
    const use = async (each: OpenCore, secret: string): Promise<string | undefined> => {
      // Without a cache, as after two seconds.
      const authentication = new Authentication({ ...each, environment: 'sandbox' });
      return (await authentication.authenticate(secret, '127.0.0.1', 'tokens:inspect')).denial;
    };
    const counts = async () =>
      (await listKeyStates(vault.services(core)))
        .filter(({ kind }) => kind === 'api-keys')
        .map(({ state, dependents }) => [state, dependents]);
    const [used, unused] = [await newKey('used'), await newKey('unused')];
    assert.deepEqual(await counts(), [['current', 2]]);
    assert.equal(await use(other, used.secret), undefined);
    assert.deepEqual(await rotateApiKeyDigests(core, ORIGIN, 'sandbox'), { environment: 'sandbox', version: 2 });
    assert.equal(await rotateApiKeyDigests(core, ORIGIN, 'production'), undefined);
    // Not before every process knows the new version.
    assert.equal(await use(core, used.secret), undefined);
    assert.deepEqual(await counts(), [
      ['retiring', 2],
      ['current', 0],
    ]);
    vault.clock.advance(LIMITS.keyHandoverMs);
    assert.deepEqual(await Promise.all([core, other, core, other].map((each) => use(each, used.secret))), [
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    assert.deepEqual(await counts(), [
      ['retiring', 1],
      ['current', 1],
    ]);
    await core.transactions.run({ origin: ORIGIN }, (transaction) =>
      core.accounts.editKey(transaction, used.key.id, { name: 'renamed' }),
    );
    assert.equal(await use(other, used.secret), undefined);
    const [blocked] = await listDestructionCandidates(vault.services(core), { now: true });
    assert.equal(blocked?.obstacle, '1 API keys were not used since it was replaced');
    assert.equal(await use(other, unused.secret), undefined);
    vault.clock.advance(LIMITS.urgentKeyRetirementMs);
    assert.equal((await destroyKeys(vault.services(core), ORIGIN, { now: true })).length, 1);
    await new DestroyedKeys(other).forget();
    for (const { secret } of [used, unused])
      for (const each of [core, other]) assert.equal(await use(each, secret), undefined);
    assert.equal(await use(core, `${used.secret.slice(0, -1)}_`), 'key_unknown');
  } finally {
    await vault.end();
  }
});

test('an emergency replaces the key of sensitive authentication data while its rotation waits for captures', async () => {
  const vault = new RotatingVault();
  try {
    const core = await vault.open();
    const services = vault.services(core);
    const purpose = 'sensitive-authentication-data';
    await core.keyring.sealer({ account: '', environment: 'sandbox' }, purpose, 1);
    const start = async (replacesSad: boolean) => startDataRotations(services, ORIGIN, { purpose }, { replacesSad });
    const [first] = await start(false);
    assert.ok(first !== undefined && !first.isContinued);
    const [second] = await start(false);
    assert.deepEqual(second, { ...first, isContinued: true });
    const [third] = await start(true);
    assert.deepEqual(third, { ...first, version: first.version + 1 });
  } finally {
    await vault.end();
  }
});

test('a destroyed key is dropped from memory also after the clock was set back', { timeout: 60_000 }, async () => {
  const vault = new RotatingVault();
  try {
    const core = await vault.open();
    const account = await newAccount(core);
    await insertSealedRows(core, tokensTable, { account, environment: 'sandbox' }, 1);
    const dropped: string[] = [];
    const keyring = { forget: (ids: readonly string[]) => void dropped.push(...ids) } as OpenCore['keyring'];
    const destroyed = new DestroyedKeys({ database: core.database, keyring });
    for (const shift of [0, -DAY]) {
      vault.clock.jump(shift);
      await startDataRotations(vault.services(core), ORIGIN, {});
      await vault.finish(core);
      vault.clock.advance(LIMITS.urgentKeyRetirementMs);
      const keys = await destroyKeys(vault.services(core), ORIGIN, { now: true });
      assert.ok(keys.length > 0);
      await destroyed.forget();
      for (const { key } of keys) assert.equal(dropped.filter((id) => id === key.id).length, 1);
    }
  } finally {
    await vault.end();
  }
});

test('keys that are older than their period are counted, until they are rotated', { timeout: 60_000 }, async () => {
  const vault = new RotatingVault();
  try {
    const core = await vault.open();
    const account = await newAccount(core);
    await insertSealedRows(core, tokensTable, { account, environment: 'sandbox' }, 1);
    const count = (days: { root: number; wrapping: number; data: number; digest?: number }) => {
      const { root, wrapping, data, digest = 0 } = days;
      const periods = { rootDays: root, wrappingDays: wrapping, dataDays: data, digestDays: digest };
      return new KeyAges({ ...core, clock: vault.clock.clock, ...COLUMNS, periods }).countOverdue();
    };
    const all = { root: 30, wrapping: 30, data: 30 };
    const createdAt = vault.clock.clock();
    assert.deepEqual(await count(all), { count: 0, since: undefined });
    vault.clock.advance(31 * DAY);
    assert.deepEqual(await count(all), { count: 5, since: createdAt + 30 * DAY });
    assert.deepEqual(await count({ root: 0, wrapping: 0, data: 30 }), { count: 1, since: createdAt + 30 * DAY });
    assert.equal((await count({ root: 0, wrapping: 0, data: 32 })).count, 0);
    await rotateRootKey(vault.services(core), ORIGIN);
    await rotateWrappingKey(vault.services(core), ORIGIN, 'service');
    await startDataRotations(vault.services(core), ORIGIN, {});
    assert.equal((await count(all)).count, 2);
    // The keys of the audit log, of the clock and of the MACs of rows.
    const digests = { root: 0, wrapping: 0, data: 0, digest: 30 };
    assert.deepEqual(await count(digests), { count: 3, since: createdAt + 30 * DAY });
    await startDigestRotations(vault.services(core), ORIGIN, { purpose: 'row-macs' });
    assert.equal((await count(digests)).count, 2);
  } finally {
    await vault.end();
  }
});

for (const [what, begin] of [
  ['', async () => undefined],
  [
    ', those of rotations in progress included',
    async (services: ReturnType<RotatingVault['services']>) => {
      await startDataRotations(services, ORIGIN, {});
      await startDigestRotations(services, ORIGIN, { purpose: 'row-macs' });
      const { keyring } = services;
      const { rewrap } = keyring;
      keyring.rewrap = () => assert.fail('interrupted');
      await assert.rejects(rotateWrappingKey(services, ORIGIN, 'sandbox'), /interrupted/);
      keyring.rewrap = rewrap;
    },
  ],
] as const)
  test(`an emergency rotation leaves no key of before${what}`, { timeout: 60_000 }, async () => {
    const vault = new RotatingVault();
    try {
      const core = await vault.open();
      const account = await newAccount(core);
      for (const columns of SEALED) await insertSealedRows(core, columns, scopeOf(columns, account), 5);
      await begin(vault.services(core));
      const before = await listWrappedKeys(core.database);
      const rootFile = readFileSync(vault.rootKeyFile);
      const waiting = {
        reseal: () => vault.resealing(core).run(),
        pause: async (milliseconds: number) => vault.clock.advance(Math.max(milliseconds, LIMITS.keyHandoverMs)),
        onProgress: () => undefined,
      };
      const done = await rotateInEmergency(vault.services(core), ORIGIN, waiting);
      assert.equal(done.formerRoot.checkValue, done.root.previousCheckValue);
      const states = await listKeyStates(vault.services(core));
      const sealing = states.filter(({ kind }) => kind !== 'permanent');
      assert.ok(sealing.every(({ state }) => state !== 'retiring'));
      for (const { key } of sealing.filter(({ key }) => before.some(({ id }) => id === key.id)))
        assert.notEqual(key.destroyedAt, undefined, key.purpose);
      assert.ok(!readFileSync(vault.rootKeyFile).equals(rootFile));
      const started = await vault.open();
      for (const columns of SEALED)
        assert.ok(
          (await openSealedRows(started, columns, scopeOf(columns, account))).texts.length >= rowsOf(columns, 5),
        );
    } finally {
      await vault.end();
    }
  });

test('an emergency rotation leaves neither the root key of before nor one that was prepared', {
  timeout: 60_000,
}, async () => {
  const vault = new RotatingVault();
  try {
    const core = await vault.open();
    const prepared = await rotateRootKey(vault.services(core), ORIGIN, { onlyPrepare: true });
    const waiting = {
      reseal: () => vault.resealing(core).run(),
      pause: async (milliseconds: number) => vault.clock.advance(Math.max(milliseconds, LIMITS.keyHandoverMs)),
      onProgress: () => undefined,
    };
    const { root, formerRoot } = await rotateInEmergency(vault.services(core), ORIGIN, waiting);
    assert.equal(root.previousCheckValue, prepared.checkValue);
    assert.equal(formerRoot.checkValue, prepared.checkValue);
    const { root: opened, previous } = await core.custody.open();
    assert.deepEqual([keyCheckValue(opened), previous], [root.checkValue, undefined]);
    await vault.open();
  } finally {
    await vault.end();
  }
});

test('an emergency rotation destroys no root key while another is prepared', { timeout: 60_000 }, async () => {
  const vault = new RotatingVault();
  try {
    const core = await vault.open();
    let isPrepared = false;
    const waiting = {
      reseal: () => vault.resealing(core).run(),
      async pause(milliseconds: number) {
        vault.clock.advance(Math.max(milliseconds, LIMITS.keyHandoverMs));
        if (isPrepared) return;
        isPrepared = true;
        core.custody.finishReplacement();
        await core.custody.replaceRootKey(createSecretKey(randomBytes(32)));
      },
      onProgress: () => undefined,
    };
    await assert.rejects(
      rotateInEmergency(vault.services(core), ORIGIN, waiting),
      /another root key than the one of this rotation/,
    );
    assert.ok(existsSync(`${vault.rootKeyFile}.previous`));
    await vault.open();
  } finally {
    await vault.end();
  }
});
