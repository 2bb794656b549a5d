import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { OpenCore } from '../../src/core.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { destroyKeys } from '../../src/rotation/destruction.ts';
import { startDigestRotations } from '../../src/rotation/digest-rotation.ts';
import { commitOrThrow, write } from '../../src/storage/database.ts';
import { findRotation } from '../../src/storage/key-rotation-store.ts';
import { newRotatingVault, ORIGIN, type RotatingVault } from '../../test/fixtures/rotation.ts';
import { inScope } from '../../test/scope.ts';
import { insertMembership, listMembershipsByPerson } from './membership-store.ts';
import { newChallenge, verifyChallenge } from './passkey-challenge.ts';
import type { Person } from './person.ts';
import { deletePerson, findPerson, findPersonByEmail, insertPerson } from './person-store.ts';
import { DIGESTS_OWNER } from './sealing.ts';
import { findSession } from './session-store.ts';
import { buildSession } from './sessions.ts';

const KINDS = inScope<readonly ('sqlite' | 'postgres')[]>({ usual: ['sqlite'], long: ['sqlite', 'postgres'] });
const VISITOR = { address: '192.0.2.1', userAgent: 'test' };

const newPerson = (id: string, email: string): Person => ({
  ...{ id, email, name: 'Ana', language: 'en', timeZone: 'UTC', revision: 1, createdAt: 1 },
  password: { memory: 8, passes: 1, parallelism: 1, salt: '', tag: '' },
});

for (const kind of KINDS)
  describe(`the key of digests of users over ${kind}`, { timeout: 120_000 }, () => {
    let rotating: RotatingVault;
    let nodes: readonly [OpenCore, OpenCore];
    before(async () => {
      rotating = await newRotatingVault(kind);
      nodes = [await rotating.open(), await rotating.open()];
    });
    after(() => rotating.end());

    const isFinished = async (): Promise<boolean> =>
      (await findRotation(nodes[0].database, DIGESTS_OWNER))?.finishedAt !== undefined;
    const insert = async ({ database, keyring }: OpenCore, person: Person): Promise<boolean> =>
      (await database.commit({ writes: await insertPerson(keyring, person) })).committed;
    const rotate = async (use: (round: number) => Promise<void>): Promise<void> => {
      await startDigestRotations(rotating.services(nodes[0]), ORIGIN, { purpose: 'people-digests' });
      for (let round = 0; !(await isFinished()); round++) {
        assert.ok(round < 30, 'the rotation does not end');
        await use(round);
        await rotating.resealing(nodes[round % 2] as OpenCore, { rate: 30 }).run();
        rotating.clock.advance(LIMITS.digestHandoverMs / 4);
      }
    };

    test('an address belongs to one user, whatever versions the nodes insert it under', async () => {
      const [one, other] = nodes;
      const emails: string[] = [];
      const check = async (round: number): Promise<void> => {
        const email = `ana${round}@example.com`;
        emails.push(email);
        // Both nodes insert it concurrently, and again after that.
        const inserted = [
          ...(await Promise.all([
            insert(one, newPerson(`a${round}`, email)),
            insert(other, newPerson(`b${round}`, email)),
          ])),
          await insert(other, newPerson(`c${round}`, email)),
        ];
        assert.equal(inserted.filter(Boolean).length, 1);
        for (const each of emails)
          for (const { database, keyring } of nodes)
            assert.equal((await findPersonByEmail(database, keyring, each))?.email, each);
      };
      await check(-1);
      await rotate(check);
      // At the moment at which the new version begins to make digests, the nodes use different ones.
      const late = await rotating.open();
      await startDigestRotations(rotating.services(one), ORIGIN, { purpose: 'people-digests' });
      rotating.clock.advance(LIMITS.digestHandoverMs - LIMITS.keyRefreshMs / 2);
      await findPersonByEmail(late.database, late.keyring, 'x@example.com');
      const former = await insertPerson(late.keyring, newPerson('late', 'late@example.com'));
      rotating.clock.advance(LIMITS.keyRefreshMs);
      const next = await insertPerson((await rotating.open()).keyring, newPerson('next', 'late@example.com'));
      assert.notDeepEqual(former.at(-1)?.rows[0]?.[1], next.at(-1)?.rows[0]?.[1]);
      const results = await Promise.all([
        one.database.commit({ writes: next }),
        late.database.commit({ writes: former }),
      ]);
      assert.equal(results.filter(({ committed }) => committed).length, 1);
      await rotating.finish(one, LIMITS.digestHandoverMs);
      assert.equal((await findPersonByEmail(other.database, other.keyring, 'late@example.com'))?.name, 'Ana');
    });

    test('memberships, sessions and challenges stay valid without the former version', async () => {
      const [one, other] = nodes;
      const at = { person: 'p1', createdAt: 1 };
      await commitOrThrow(one.database, {
        writes: [await insertMembership(one.keyring, { ...at, account: '', role: 'operator' })],
      });
      const parts = { ...one, clock: rotating.clock.clock };
      const session = await buildSession(parts, { person: 'p1', stage: 'signed-in', client: VISITOR });
      await commitOrThrow(one.database, { writes: [session.write] });
      const check = async (): Promise<void> => {
        const [membership] = await listMembershipsByPerson(other.database, other.keyring, 'p1');
        assert.equal(membership?.role, 'operator');
        assert.equal((await findSession(other.database, other.keyring, session.session.digest))?.person, 'p1');
        const challenge = Buffer.from(await newChallenge({ ...one, clock: rotating.clock.clock })).toString(
          'base64url',
        );
        assert.notEqual(await verifyChallenge(other, challenge), undefined);
      };
      await rotate(check);
      rotating.clock.advance(LIMITS.urgentKeyRetirementMs);
      const destroyed = await destroyKeys(rotating.services(one), ORIGIN, { now: true });
      assert.deepEqual(
        [...new Set(destroyed.map(({ key, leftOver }) => `${key.purpose} ${leftOver}`))],
        ['people-digests 0'],
      );
      rotating.clock.advance(LIMITS.keyStaleMs);
      await check();
    });

    test('an address that was altered gets no new digest', async () => {
      const [one] = nodes;
      const { database, keyring } = one;
      await insert(one, newPerson('eva', 'eva@example.com'));
      await insert(one, newPerson('max', 'max@example.com'));
      const [row] = await database.read(`select email from people where id = 'max'`);
      await commitOrThrow(database, { writes: [write(`delete from people where id = 'max'`, [], 1)] });
      // The digest of another address finds the wrong user, who is rejected.
      const swap = write(`update people set email = ? where id = 'eva'`, [row?.['email'] ?? null], 1);
      await commitOrThrow(database, { writes: [swap] });
      await startDigestRotations(rotating.services(one), ORIGIN, { purpose: 'people-digests' });
      await rotating.finish(one, LIMITS.digestHandoverMs);
      assert.equal((await findRotation(database, DIGESTS_OWNER))?.leftOver, 1);
      assert.equal(await findPersonByEmail(database, keyring, 'max@example.com'), undefined);
      const eva = await findPerson(database, keyring, 'eva');
      assert.ok(eva !== undefined);
      await commitOrThrow(database, { writes: [deletePerson(eva)] });
    });
  });
