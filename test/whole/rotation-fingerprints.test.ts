import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { OpenCore } from '../../src/core.ts';
import type { Environment } from '../../src/kernel/environment.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import type { Pan } from '../../src/kernel/pan.ts';
import { destroyKeys } from '../../src/rotation/destruction.ts';
import { startFingerprintRotations } from '../../src/rotation/fingerprint-rotation.ts';
import { listKeyStates } from '../../src/rotation/key-states.ts';
import { commitOrThrow, write } from '../../src/storage/database.ts';
import { findRotation } from '../../src/storage/key-rotation-store.ts';
import { Vault } from '../../src/vault/vault.ts';
import { newAccount, newRotatingVault, ORIGIN, type RotatingVault } from '../fixtures/rotation.ts';
import { luhnPan } from '../fixtures/test-service.ts';
import { scope } from '../scope.ts';

const CARDS = 12;
const KINDS = scope === 'fast' ? (['sqlite'] as const) : (['sqlite', 'postgres'] as const);

for (const kind of KINDS)
  describe(`fingerprints over ${kind}`, { timeout: 120_000 }, () => {
    let rotating: RotatingVault;
    let nodes: { readonly core: OpenCore; readonly vault: Vault }[];
    let tenant: { readonly account: string; readonly environment: Environment };
    const owner = () => ({ ...tenant, purpose: 'fingerprints' }) as const;
    before(async () => {
      rotating = await newRotatingVault(kind);
      const cores = [await rotating.open(), await rotating.open()];
      nodes = cores.map((core) => ({ core, vault: new Vault(core) }));
      tenant = { account: await newAccount(cores[0] as OpenCore), environment: 'sandbox' };
    });
    after(() => rotating.end());

    const tokenize = async (node: number, pan: string, persistent = true, scheme: 1 | 8 = 1): Promise<string> => {
      const { core, vault } = nodes[node % nodes.length] as (typeof nodes)[0];
      const cards = [{ pan: pan as Pan, name: undefined, expiry: undefined }];
      const format = { scheme, bin: 6 } as const;
      const creator = { id: 'key_1', name: 'till' };
      const request = { cards, tags: [], format, persistent, creator };
      const [result] = await core.transactions.run({ origin: ORIGIN, account: tenant.account }, (transaction) =>
        vault.tokenize(transaction, tenant, request),
      );
      return result?.token?.token ?? '';
    };
    const core = (): OpenCore => nodes[0]?.core as OpenCore;
    const persistentRows = async (): Promise<number> =>
      Number(
        (await core().database.read('select count(*) as number from tokens where format is not null'))[0]?.['number'],
      );
    const phase = async (): Promise<number> => {
      const rotation = await findRotation(core().database, owner());
      return rotation?.finishedAt === undefined ? (rotation?.phase ?? 0) : 4;
    };

    test('no card gets two persistent tokens while two nodes tokenize it in every phase', async () => {
      const pans = Array.from({ length: CARDS }, () => luhnPan('411111'));
      const known = new Map<string, string>();
      const check = async (some: readonly string[]): Promise<void> => {
        // Both nodes tokenize each card concurrently.
        const tokens = await Promise.all(some.flatMap((pan) => [tokenize(0, pan), tokenize(1, pan)]));
        for (const [index, token] of tokens.entries()) {
          const pan = some[Math.floor(index / 2)] ?? '';
          assert.match(token, /^411111/);
          assert.equal(token, known.get(pan) ?? token);
          known.set(pan, token);
        }
      };
      await check(pans.slice(0, 2));
      await startFingerprintRotations(rotating.services(core()), ORIGIN, {});
      const seen = new Set<number>();
      // One more new card in each round, and one node that learns of each phase later than the other.
      for (let round = 3; (await phase()) < 4; round++) {
        assert.ok(round < 60, 'the rotation does not end');
        seen.add(await phase());
        const found = pans[round % CARDS] ?? '';
        await tokenize(round, found).then((token) => assert.equal(token, known.get(found) ?? token));
        const fresh = luhnPan('411111');
        pans.push(fresh);
        const [, ...tokens] = await Promise.all([
          rotating.resealing(nodes[round % 2]?.core as OpenCore, { rate: 30 }).run(),
          tokenize(0, fresh),
          tokenize(1, fresh),
        ]);
        assert.equal(tokens[0], tokens[1]);
        known.set(fresh, tokens[0] ?? '');
        rotating.clock.advance(LIMITS.digestHandoverMs / 4);
        await check(pans.slice(0, CARDS));
      }
      assert.deepEqual([...seen], [1, 2, 3]);
      await check([...known.keys()]);
      assert.equal(await persistentRows(), known.size);
      const [left] = await core().database.read(
        'select count(*) as number from tokens where next_fingerprint is not null',
      );
      assert.equal(Number(left?.['number']), 0);
    });

    test('a row of a phase conflicts with one of the phase before or after it', async () => {
      const pan = luhnPan('411111');
      const token = await tokenize(0, pan);
      for (let round = 0; round < 3; round++) {
        await startFingerprintRotations(rotating.services(core()), ORIGIN, {});
        // The first node has read the phase before, the second one learns of the next.
        for (let next = await phase(); next < 4; next = await phase()) {
          assert.equal(await tokenize(1, pan), token);
          assert.equal(await tokenize(0, pan), token);
          rotating.clock.advance(LIMITS.digestHandoverMs);
          await rotating.resealing(core()).run();
        }
      }
      assert.equal(await tokenize(1, pan), token);
    });

    test('scheme 8 issues no stored card number, and keeps its half', async () => {
      const pan = luhnPan('520082');
      const before = await tokenize(0, pan, true, 8);
      await startFingerprintRotations(rotating.services(core()), ORIGIN, {});
      await rotating.finish(core(), LIMITS.digestHandoverMs);
      assert.equal(await tokenize(1, pan, true, 8), before);
      const halves = (await listKeyStates(rotating.services(core()))).filter(
        ({ key }) => key.purpose === 'token-halves',
      );
      assert.deepEqual(
        halves.map(({ key, kind: does }) => [key.version, does]),
        [[1, 'permanent']],
      );
    });

    test('the former key is destroyed once no token has its fingerprint', async () => {
      await rotating.finish(core(), LIMITS.digestHandoverMs);
      rotating.clock.advance(LIMITS.urgentKeyRetirementMs);
      const states = (await listKeyStates(rotating.services(core()))).filter(
        ({ kind: does }) => does === 'fingerprints',
      );
      assert.ok(states.length > 1);
      assert.ok(states.slice(0, -1).every(({ dependents }) => dependents === 0));
      const destroyed = await destroyKeys(rotating.services(core()), ORIGIN, { now: true });
      assert.equal(destroyed.length, states.length - 1);
      const pan = luhnPan('411111');
      assert.equal(await tokenize(0, pan), await tokenize(1, pan));
    });

    test('a token that was altered is left over, and the rotation ends', async () => {
      const token = await tokenize(0, luhnPan('411111'));
      const altered = 'update tokens set scheme = 3 where account = ?account and created_at = ? and slot = ?';
      const [row] = await core().database.read(
        'select created_at, slot from tokens where account = ?account order by created_at desc, slot desc limit 1',
        tenant.account,
      );
      assert.ok(token !== '' && row !== undefined);
      const values = [tenant.account, row['created_at'] ?? null, row['slot'] ?? null];
      await commitOrThrow(core().database, { writes: [write(altered, values, 1)] });
      await startFingerprintRotations(rotating.services(core()), ORIGIN, {});
      await rotating.finish(core(), LIMITS.digestHandoverMs);
      assert.equal((await findRotation(core().database, owner()))?.leftOver, 1);
    });
  });
