import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { verifyJournal } from '../../src/audit/verify-journal.ts';
import type { OpenCore } from '../../src/core.ts';
import type { Purpose } from '../../src/crypto/wrapped-key.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { destroyKeys, listDestructionCandidates } from '../../src/rotation/destruction.ts';
import { startDigestRotations } from '../../src/rotation/digest-rotation.ts';
import { listKeyStates } from '../../src/rotation/key-states.ts';
import { commitOrThrow, write } from '../../src/storage/database.ts';
import { findRotation } from '../../src/storage/key-rotation-store.ts';
import { newAccount, newRotatingVault, ORIGIN, type RotatingVault } from '../fixtures/rotation.ts';
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

    const isFinished = async (purpose: Purpose): Promise<boolean> =>
      (await findRotation(nodes[0].database, { ...SERVICE, purpose }))?.finishedAt !== undefined;

    /** Rotates a key of the service; calls `use` in each quarter of a handover, when the nodes know different versions. */
    const rotate = async (purpose: Purpose, use: (round: number) => Promise<void>): Promise<void> => {
      const [started] = await startDigestRotations(rotating.services(nodes[0]), ORIGIN, { purpose });
      assert.equal(started?.owner.purpose, purpose);
      for (let round = 0; !(await isFinished(purpose)); round++) {
        assert.ok(round < 30, 'the rotation does not end');
        await use(round);
        await rotating.resealing(nodes[round % 2] as OpenCore, { rate: 30 }).run();
        rotating.clock.advance(LIMITS.digestHandoverMs / 4);
      }
      await use(0);
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
