import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { verifyJournal } from '../../src/audit/verify-journal.ts';
import type { Capture } from '../../src/captures/capture.ts';
import {
  insertCapture,
  listActiveCaptures,
  purgeExpiredCaptures,
  unsealCapture,
} from '../../src/captures/capture-store.ts';
import type { OpenCore } from '../../src/core.ts';
import { systemRandom } from '../../src/crypto/random.ts';
import type { KeyScope, Purpose } from '../../src/crypto/wrapped-key.ts';
import { IdempotencyKeys, type KeyedRequest } from '../../src/idempotency/idempotency-keys.ts';
import { DAY, HOUR } from '../../src/kernel/clock.ts';
import type { Tenant } from '../../src/kernel/environment.ts';
import { Failure } from '../../src/kernel/failure.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import type { Pan } from '../../src/kernel/pan.ts';
import { destroyKeys, listDestructionCandidates } from '../../src/rotation/destruction.ts';
import { startDigestRotations } from '../../src/rotation/digest-rotation.ts';
import { listKeyStates } from '../../src/rotation/key-states.ts';
import { commitOrThrow, write } from '../../src/storage/database.ts';
import { findRotation } from '../../src/storage/key-rotation-store.ts';
import { TokenQueries, type TokenSearch } from '../../src/vault/token-queries.ts';
import { TokenStore } from '../../src/vault/token-store.ts';
import { Vault } from '../../src/vault/vault.ts';
import { newAccount, newRotatingVault, ORIGIN, type RotatingVault } from '../fixtures/rotation.ts';
import { luhnPan } from '../fixtures/test-service.ts';
import { untilPasses } from '../fixtures/until-passes.ts';
import { inScope } from '../scope.ts';

const KINDS = inScope<readonly ('sqlite' | 'postgres')[]>({ usual: ['sqlite'], long: ['sqlite', 'postgres'] });

const SERVICE = { account: '', environment: 'service' } as const;

for (const kind of KINDS)
  describe(`keys of digests over ${kind}`, { timeout: 120_000 }, () => {
    let rotating: RotatingVault;
    let nodes: readonly [OpenCore, OpenCore];
    before(async () => {
      rotating = await newRotatingVault(kind);
      nodes = [await rotating.open(), await rotating.open()];
    });
    after(() => rotating.end());

    const isFinished = async (purpose: Purpose, scope: KeyScope = SERVICE): Promise<boolean> =>
      (await findRotation(nodes[0].database, { ...scope, purpose }))?.finishedAt !== undefined;

    /** Rotates a key of the service; calls `use` in each quarter of a handover, when the nodes know different versions. */
    const rotate = async (
      purpose: Purpose,
      use: (round: number) => Promise<void>,
      scope: KeyScope = SERVICE,
      step: (round: number) => number = () => LIMITS.digestHandoverMs / 4,
    ): Promise<void> => {
      const [started] = await startDigestRotations(rotating.services(nodes[0]), ORIGIN, { purpose });
      assert.equal(started?.owner.purpose, purpose);
      for (let round = 0; !(await isFinished(purpose, scope)); round++) {
        assert.ok(round < 60, 'the rotation does not end');
        await use(round);
        await rotating.resealing(nodes[round % 2] as OpenCore, { rate: 30 }).run();
        rotating.clock.advance(step(round));
      }
      await use(100);
    };

    /** Returns how many rows are under each version of a key. */
    const countByVersion = async (purpose: Purpose): Promise<Record<number, number | undefined>> => {
      const states = await listKeyStates(rotating.services(nodes[0]));
      const ofPurpose = states.filter(({ key }) => key.purpose === purpose);
      return Object.fromEntries(ofPurpose.map(({ key, dependents }) => [key.version, dependents]));
    };

    /** Destroys the former version, and uses what was under it on both nodes. */
    const destroy = async (purpose: Purpose): Promise<void> => {
      rotating.clock.advance(LIMITS.urgentKeyRetirementMs);
      const destroyed = await destroyKeys(rotating.services(nodes[0]), ORIGIN, { now: true });
      assert.deepEqual(
        destroyed.map(({ key, leftOver }) => [key.purpose, leftOver]),
        [[purpose, 0]],
      );
      rotating.clock.advance(LIMITS.keyStaleMs);
    };

    test('rows of accounts are authentic on every node in every phase, and after the end of the former key', async () => {
      const ids: string[] = [];
      const check = async (): Promise<void> => {
        // Each node creates one, and reads those of the other.
        ids.push(await newAccount(nodes[0]), await newAccount(nodes[1]));
        for (const { accounts } of nodes)
          assert.ok(
            (await accounts.list()).every(({ isTampered }) => !isTampered),
            'a row is altered',
          );
      };
      await check();
      await rotate('row-macs', check);
      const { length } = await nodes[0].accounts.list();
      assert.deepEqual(await countByVersion('row-macs'), { 1: 0, 2: length });
      await destroy('row-macs');
      await check();
      for (const id of ids) assert.equal((await (await rotating.open()).accounts.get(id)).isTampered, false);
    });

    test('a row that is altered during the rotation gets no new MAC, and does not keep the key', async () => {
      const altered = await newAccount(nodes[0]);
      await startDigestRotations(rotating.services(nodes[0]), ORIGIN, { purpose: 'row-macs' });
      await commitOrThrow(nodes[0].database, {
        writes: [write("update accounts set name = 'Mallory' where id = ?", [altered], 1)],
      });
      await rotating.finish(nodes[1], LIMITS.digestHandoverMs);
      assert.equal((await findRotation(nodes[0].database, { ...SERVICE, purpose: 'row-macs' }))?.leftOver, 1);
      assert.equal((await nodes[0].accounts.get(altered)).isTampered, true);
      rotating.clock.advance(LIMITS.urgentKeyRetirementMs);
      const [candidate] = await listDestructionCandidates(rotating.services(nodes[0]), { now: true });
      assert.equal(candidate?.obstacle, undefined);
      assert.equal(candidate?.leftOver, 1);
      assert.equal((await destroyKeys(rotating.services(nodes[0]), ORIGIN, { now: true })).length, 1);
      assert.equal((await nodes[1].accounts.get(altered)).isTampered, true);
    });

    test('a late row under the former version keeps the key, and continues the rotation', async () => {
      const late = await newAccount(nodes[0]);
      const [row] = await nodes[0].database.read('select mac from accounts where id = ?', late);
      await startDigestRotations(rotating.services(nodes[0]), ORIGIN, { purpose: 'row-macs' });
      await rotating.finish(nodes[0], LIMITS.digestHandoverMs);
      const put = write('update accounts set mac = ? where id = ?', [row?.['mac'] ?? null, late], 1);
      await commitOrThrow(nodes[0].database, { writes: [put] });
      rotating.clock.advance(LIMITS.urgentKeyRetirementMs);
      assert.deepEqual(await destroyKeys(rotating.services(nodes[0]), ORIGIN, { now: true }), []);
      assert.equal(await isFinished('row-macs'), false);
      await rotating.finish(nodes[0], LIMITS.digestHandoverMs);
      await destroy('row-macs');
      assert.equal((await nodes[1].accounts.get(late)).isTampered, false);
    });

    test('the audit log is intact on every node in every phase, and without the former key', async () => {
      const check = async (): Promise<void> => {
        await Promise.all([newAccount(nodes[0]), newAccount(nodes[1])]);
        for (const { database, journalKey } of nodes)
          assert.equal((await verifyJournal(database, journalKey)).fault, undefined);
      };
      await check();
      await rotate('journal', check);
      const counts = await countByVersion('journal');
      assert.equal(counts[1], 0);
      assert.ok((counts[2] ?? 0) > 1);
      await destroy('journal');
      await check();
      const started = await rotating.open();
      assert.equal((await verifyJournal(started.database, started.journalKey)).fault, undefined);
      const [record] = await started.database.read(
        `select record from journal where record like '%keyring.destroyed%' and record like '%"journal"%'`,
      );
      assert.match(String(record?.['record']), /"check_value":"[0-9a-f]{8}"/);
    });

    const newTenant = async (): Promise<Tenant> => ({ account: await newAccount(nodes[0]), environment: 'sandbox' });
    const WAIT_FOR_EXPIRY_MS = 2 * HOUR;
    const step = (round: number): number => (round < 12 ? LIMITS.digestHandoverMs / 4 : WAIT_FOR_EXPIRY_MS);

    test('tokens are found by tag, last four and BIN on every node in every phase', async () => {
      const tenant = await newTenant();
      const parts = nodes.map((core) => ({ core, vault: new Vault(core), queries: new TokenQueries(core) }));
      const known: { readonly pan: string; readonly token: string; readonly tag: string }[] = [];
      const tokenize = async (node: number, tag: string): Promise<void> => {
        const { core, vault } = parts[node] as (typeof parts)[0];
        const pan = luhnPan('411111');
        const cards = [{ pan: pan as Pan, name: undefined, expiry: undefined }];
        const creator = { id: 'key_1', name: 'till' };
        const request = {
          cards,
          tags: [tag, 'all'],
          format: { scheme: 7, bin: 6 } as const,
          persistent: false,
          creator,
        };
        const [result] = await core.transactions.run({ origin: ORIGIN, account: tenant.account }, (transaction) =>
          vault.tokenize(transaction, tenant, request),
        );
        known.push({ pan, token: result?.token?.token ?? '', tag });
      };
      const check = async (round: number): Promise<void> => {
        await Promise.all([tokenize(0, `a${round}`), tokenize(1, `b${round}`)]);
        for (const { queries } of parts) {
          const find = async (search: TokenSearch) =>
            (await queries.search(tenant, search)).items.map(({ token }) => token);
          const all = await find({ by: 'tag', text: 'all' });
          assert.deepEqual(all.toSorted(), known.map(({ token }) => token).sort());
          for (const { pan, token, tag } of known.slice(-4)) {
            assert.deepEqual(await find({ by: 'tag', text: tag }), [token]);
            assert.ok((await find({ by: 'last-four', text: pan.slice(-4) })).includes(token));
          }
          assert.equal((await find({ by: 'bin', text: '411111' })).length, known.length);
        }
      };
      await check(-1);
      await rotate('token-tags', check, tenant);
      assert.equal((await countByVersion('token-tags'))[1], 0);
      await destroy('token-tags');
      await check(200);
    });

    test('a request has one claim, whatever versions the nodes know, until the last former claim has ended', async () => {
      const tenant = await newTenant();
      const requestOf = (key: string): KeyedRequest => ({
        ...{ tenant, method: 'POST', path: '/v1/tokens', key },
        content: Buffer.from(`body of ${key}`),
      });
      const claimed: string[] = [];
      const claim = async (core: OpenCore, key: string): Promise<'claimed' | 'replayed' | 'in progress'> => {
        try {
          const found = await core.idempotency.claim(requestOf(key));
          if (!('claim' in found)) return 'replayed';
          const response = { status: 200, body: key };
          const writes = [await found.claim.storeResponse(response)];
          found.claim.stop();
          await commitOrThrow(core.database, { account: tenant.account, writes });
          return 'claimed';
        } catch (error) {
          if (error instanceof Failure && error.code === 'operation_in_progress') return 'in progress';
          throw error;
        }
      };
      const check = async (round: number): Promise<void> => {
        const key = `key-${round}`;
        const results = await Promise.all([claim(nodes[0], key), claim(nodes[1], key)]);
        assert.equal(results.filter((each) => each === 'claimed').length, 1, `${round}: ${results.join()}`);
        claimed.push(key);
        // The stored responses of the last hours are found by every node.
        for (const each of claimed.slice(-6))
          for (const core of nodes) assert.equal(await claim(core, each), 'replayed');
        const other = { ...requestOf(key), content: Buffer.from('another body') };
        await assert.rejects(nodes[1].idempotency.claim(other), Failure);
        // Responses end within a day.
        await nodes[0].idempotency.sweep(rotating.clock.clock());
      };
      await check(-1);
      await rotate('idempotency-digests', check, tenant, step);
      assert.equal((await countByVersion('idempotency-digests'))[1], 0);
      await destroy('idempotency-digests');
      await check(200);
    });

    test('a claim of a process that was held up during a whole rotation is released, and not used', async () => {
      const tenant = await newTenant();
      const [held, other] = nodes;
      let release = (): void => undefined;
      const holding = new Promise<void>((resolve) => {
        release = resolve;
      });
      let isHeld = false;
      const database: OpenCore['database'] = Object.assign(Object.create(held.database), {
        read: (...parts: Parameters<typeof held.database.read>) => held.database.read(...parts),
        commit: async (...parts: Parameters<typeof held.database.commit>) => {
          if (!isHeld) {
            isHeld = true;
            await holding;
          }
          return held.database.commit(...parts);
        },
      });
      const slow = new IdempotencyKeys({ ...held, random: systemRandom(), database });
      const request: KeyedRequest = {
        ...{ tenant, method: 'POST', path: '/v1/payments', key: 'order-1' },
        content: Buffer.from('a payment'),
      };
      const late = slow.claim(request);
      await untilPasses(async () => assert.ok(isHeld));
      await rotate('idempotency-digests', () => Promise.resolve(), tenant, step);
      const repeated = await other.idempotency.claim(request);
      assert.ok('claim' in repeated);
      repeated.claim.stop();
      release();
      await assert.rejects(late, (error) => error instanceof Failure && error.code === 'operation_in_progress');
      // Nothing of it is left, so that the former key can end.
      const rows = await other.database.read('select id from idempotency where account = ?account', tenant.account);
      assert.equal(rows.length, 1);
      await commitOrThrow(other.database, { account: tenant.account, writes: [repeated.claim.release()] });
      await destroy('idempotency-digests');
    });

    test('indexes of cards that clients see are equal on every node, and change only by an explicit command', async () => {
      const tenant = await newTenant();
      const all = await startDigestRotations(rotating.services(nodes[0]), ORIGIN, { account: tenant.account });
      assert.deepEqual(all, []);
      const [one, other] = nodes;
      const pan = luhnPan('411111') as Pan;
      const insert = async (core: OpenCore, id: string): Promise<void> => {
        const at = rotating.clock.clock();
        const capture = { id, pan, amount: 1, currency: 'COP', createdAt: at, expiresAt: at + DAY, additionalInfo: {} };
        const record = await insertCapture(
          core.keyring,
          tenant,
          { ...capture, sad: {} } as unknown as Capture,
          undefined,
        );
        await commitOrThrow(core.database, { account: tenant.account, writes: [record] });
      };
      const indexes = new Set<string>();
      const check = async (round: number): Promise<void> => {
        const at = rotating.clock.clock();
        await insert(nodes[Math.abs(round) % 2] ?? one, `capture_${round}`);
        const store = await TokenStore.load(other.database, other.keyring, tenant, at);
        assert.equal(await store.isStoredPan(pan), true);
        const rows = await listActiveCaptures(other.database, tenant, at, {}, { createdAt: at + 1, id: '' }, 100);
        const shown = await Promise.all(rows.map((row) => unsealCapture(other.keyring, tenant, row)));
        assert.equal(new Set(shown.map(({ panIndex }) => panIndex)).size, 1);
        assert.match(String(shown[0]?.panIndex), /^[0-9a-f]{32}$/);
        indexes.add(String(shown[0]?.panIndex));
        await purgeExpiredCaptures(one.database, at, 100);
      };
      await check(-1);
      assert.equal((await startDigestRotations(rotating.services(one), ORIGIN, { account: tenant.account })).length, 1);
      await rotating.finish(one, LIMITS.digestHandoverMs);
      await rotate('pan-indexes', check, tenant, step);
      assert.equal(indexes.size, 2);
      rotating.clock.advance(LIMITS.urgentKeyRetirementMs);
      const destroyed = await destroyKeys(rotating.services(one), ORIGIN, { now: true });
      assert.deepEqual(new Set(destroyed.map(({ key }) => key.purpose)), new Set(['pan-indexes', 'token-tags']));
      rotating.clock.advance(LIMITS.keyStaleMs);
      await check(300);
    });

    test('the records of the clock stay authentic', async () => {
      const [one, other] = nodes;
      const put = async (at: number): Promise<void> =>
        commitOrThrow(one.database, { writes: [await one.clockRecords.upsert('trusted', { at, since: at })] });
      await put(1);
      await rotate('clock', async (round) => {
        await put(round);
        assert.deepEqual((await other.clockRecords.list()).trusted, { at: round, since: round });
      });
      await destroy('clock');
      assert.notEqual((await other.clockRecords.list()).trusted, undefined);
    });
  });
