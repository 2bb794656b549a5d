import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { describe, it } from 'node:test';
import type { Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import { Keyring, WrongRootKeyError } from './keyring.ts';
import { systemRandom } from './random.ts';
import { encryptionContext, parseKeyId, UnsealError, unseal } from './seal.ts';
import type { KeyEnvironment, KeyOwner, Purpose, WrappedKey, WrappedKeyStore } from './wrapped-key.ts';

/** Wrapped keys in memory instead of a database; each call yields to other callers first. */
class MemoryStore implements WrappedKeyStore {
  readonly rows = new Map<string, WrappedKey>();

  async find({ account, environment, purpose }: KeyOwner): Promise<WrappedKey[]> {
    await pause();
    return this.of(purpose).filter((row) => row.account === account && row.environment === environment);
  }

  async findById(id: string): Promise<WrappedKey | undefined> {
    await pause();
    return this.rows.get(id);
  }

  async insert(key: WrappedKey): Promise<boolean> {
    await pause();
    const { account, environment, purpose, version } = key;
    const isTaken = this.of(purpose).some(
      (row) => row.account === account && row.environment === environment && row.version === version,
    );
    if (isTaken) return false;
    this.rows.set(key.id, { ...key, wrapped: Uint8Array.from(key.wrapped) });
    return true;
  }

  async reserve({ id, reserved }: WrappedKey, to: number): Promise<boolean> {
    await pause();
    const row = this.rows.get(id);
    if (row === undefined || row.reserved !== reserved) return false;
    this.rows.set(id, { ...row, reserved: to });
    return true;
  }

  of(purpose: Purpose): WrappedKey[] {
    return [...this.rows.values()]
      .filter((row) => row.purpose === purpose)
      .sort((one, other) => one.version - other.version);
  }

  /** Reserves as other processes would. */
  setReserved(purpose: Purpose, reserved: number): void {
    for (const row of this.of(purpose)) this.rows.set(row.id, { ...row, reserved });
  }
}

const pause = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const ROOT = createSecretKey(Buffer.alloc(32, 1));
const NOW = 1_700_000_000_000;
const A: Tenant = { account: 'acc_a', environment: 'sandbox' };
const CONTEXT = encryptionContext('sandbox', 'acc_a', 'tokens', 'x', 'record');
const BLOCK = LIMITS.sealsPerReservation;

const ringOn = (store: WrappedKeyStore, root = ROOT): Keyring =>
  new Keyring({ root, store, clock: () => NOW, random: systemRandom() });

/** Inserts the keys as the first start of a service does: all of them in one commit. */
async function begin(ring: Keyring, store: MemoryStore, environments: readonly KeyEnvironment[]): Promise<void> {
  for (const row of ring.generateInitialKeys(environments, []).rows) await store.insert(row);
  await ring.initialize(environments);
}

async function sealed(ring: Keyring, text: string, { tenant = A, purpose = 'tokens' as Purpose, count = 1 } = {}) {
  return (await ring.sealer(tenant, purpose, count))(CONTEXT, text);
}

describe('a keyring', () => {
  it('adds a key once, whatever number of requests waits for it', async () => {
    const store = new MemoryStore();
    await begin(ringOn(store), store, ['sandbox']);
    let inserts = 0;
    const counting: WrappedKeyStore = {
      find: (owner) => store.find(owner),
      findById: (id) => store.findById(id),
      reserve: (key, to) => store.reserve(key, to),
      insert: (key) => {
        inserts++;
        return store.insert(key);
      },
    };
    const ring = ringOn(counting);
    const keys = await Promise.all(Array.from({ length: 50 }, () => ring.digestKey({ ...A, purpose: 'pan-indexes' })));
    assert.equal(inserts, 1);
    assert.ok(keys.every((key) => keys[0]?.equals(key)));
  });

  it('unseals what it sealed, also after a restart', async () => {
    const store = new MemoryStore();
    const value = await sealed(ringOn(store), '4111111111111111');
    assert.equal((await ringOn(store).unseal(A, 'tokens', CONTEXT, value)).toString(), '4111111111111111');
  });

  it('uses one key for a tenant and purpose, with a new nonce each time', async () => {
    const store = new MemoryStore();
    const ring = ringOn(store);
    const values = [];
    for (let index = 0; index < 50; index++) values.push(await sealed(ring, 'same'));
    assert.equal(new Set(values.map(parseKeyId)).size, 1);
    assert.equal(new Set(values.map((value) => Buffer.from(value.subarray(9, 21)).toString('hex'))).size, 50);
    assert.equal(store.of('tokens').length, 1);
  });

  it('uses different keys for each account, environment and purpose, and unseals nothing in another context', async () => {
    const store = new MemoryStore();
    const ring = ringOn(store);
    const owners: [Tenant, Purpose][] = [
      [A, 'tokens'],
      [{ account: 'acc_b', environment: 'sandbox' }, 'tokens'],
      [{ account: 'acc_a', environment: 'production' }, 'tokens'],
      [A, 'captures'],
      [A, 'sensitive-authentication-data'],
    ];
    const values = [];
    for (const [tenant, purpose] of owners) values.push(await sealed(ring, 'x', { tenant, purpose }));
    assert.equal(new Set(values.map(parseKeyId)).size, owners.length);
    for (const [index, value] of values.entries()) {
      for (const [ownerIndex, [tenant, purpose]] of owners.entries()) {
        for (const reader of [ring, ringOn(store)]) {
          const opened = reader.unseal(tenant, purpose, CONTEXT, value);
          if (index === ownerIndex) assert.equal((await opened).toString(), 'x');
          else await assert.rejects(opened, UnsealError);
        }
      }
    }
  });

  it('stores no part of a key in clear', async () => {
    const drawn: Buffer[] = [];
    const random = systemRandom();
    const bytes = (size: number): Uint8Array => {
      const fresh = random.bytes(size);
      if (size === 32) drawn.push(Buffer.from(fresh));
      return fresh;
    };
    const store = new MemoryStore();
    const ring = new Keyring({
      root: ROOT,
      store,
      clock: () => NOW,
      random: { bytes, below: (bound) => random.below(bound) },
    });
    const value = await sealed(ring, 'x');
    assert.equal(drawn.length, 2);
    for (const row of store.rows.values()) {
      assert.equal(row.createdAt, NOW);
      for (const material of drawn) assert.ok(!Buffer.from(row.wrapped).includes(material));
    }
    for (const material of drawn) assert.ok(!Buffer.from(value).includes(material));
  });

  it('throws the same error for anything that it cannot unseal', async () => {
    const store = new MemoryStore();
    const ring = ringOn(store);
    const value = await sealed(ring, 'x');
    const unknownKey = value.slice();
    unknownKey[1] = (unknownKey[1] ?? 0) ^ 1;
    const changed = value.slice();
    changed[25] = (changed[25] ?? 0) ^ 1;
    const rootKey = value.slice().fill(0, 1, 9);
    for (const bad of [unknownKey, changed, rootKey, value.subarray(0, 30), new Uint8Array(), value.subarray(1)]) {
      await assert.rejects(ring.unseal(A, 'tokens', CONTEXT, bad), UnsealError);
    }
    await assert.rejects(ring.unseal(A, 'tokens', encryptionContext('elsewhere'), value), UnsealError);
  });
});

describe('versions', () => {
  it('follow one another at the limit of a key, and older ones still unseal', async () => {
    const store = new MemoryStore();
    const ring = ringOn(store);
    const first = await sealed(ring, 'one');
    store.setReserved('tokens', LIMITS.sealsPerDataKey - BLOCK);
    // The last reservation of the first key, and the reservation after it.
    const last = await sealed(ringOn(store), 'two');
    const second = await sealed(ringOn(store), 'three');
    assert.equal(parseKeyId(last), parseKeyId(first));
    assert.notEqual(parseKeyId(second), parseKeyId(first));
    const [one, two, ...others] = store.of('tokens');
    assert.equal(others.length, 0);
    assert.deepEqual([one?.version, two?.version], [1, 2]);
    assert.equal(one?.reserved, LIMITS.sealsPerDataKey);
    assert.equal(two?.reserved, BLOCK);
    for (const reader of [ring, ringOn(store)]) {
      for (const [value, text] of [
        [first, 'one'],
        [last, 'two'],
        [second, 'three'],
      ] as const) {
        assert.equal((await reader.unseal(A, 'tokens', CONTEXT, value)).toString(), text);
      }
    }
  });

  it('change in a running process that has used its reservation', async () => {
    const store = new MemoryStore();
    const ring = ringOn(store);
    const first = await sealed(ring, 'one', { count: BLOCK });
    store.setReserved('tokens', LIMITS.sealsPerDataKey);
    let value = first;
    // Nonces that were reserved ahead of need may still be of the first key.
    for (let round = 0; round < 3; round++) value = await sealed(ring, 'two', { count: BLOCK });
    assert.notEqual(parseKeyId(value), parseKeyId(first));
    assert.equal((await ring.unseal(A, 'tokens', CONTEXT, first)).toString(), 'one');
    assert.equal((await ring.unseal(A, 'tokens', CONTEXT, value)).toString(), 'two');
  });

  it('never seal more than was reserved for them', async () => {
    const store = new MemoryStore();
    const ring = ringOn(store);
    let used = 0;
    for (const count of [1, BLOCK / 2, BLOCK / 2, BLOCK, 3 * BLOCK, 1, BLOCK - 1, 5]) {
      await ring.sealer(A, 'tokens', count);
      used += count;
      assert.ok((store.of('tokens')[0]?.reserved ?? 0) >= used, `${used} used`);
    }
  });

  it('do not use the reservation of the previous version', async () => {
    const store = new MemoryStore();
    const ring = ringOn(store);
    await ring.sealer(A, 'tokens', 1);
    store.setReserved('tokens', LIMITS.sealsPerDataKey);
    let used = 0;
    for (const count of [BLOCK, BLOCK - 1, BLOCK]) {
      await ring.sealer(A, 'tokens', count);
      used += count;
      assert.ok((store.of('tokens')[1]?.reserved ?? 0) >= used, `${used} used`);
    }
  });

  it('serve many concurrent callers', async () => {
    const store = new MemoryStore();
    const ring = ringOn(store);
    const calls = Array.from({ length: 40 }, () => ring.sealer(A, 'tokens', BLOCK / 8));
    const values = (await Promise.all(calls)).map((seal) => seal(CONTEXT, 'x'));
    assert.equal(new Set(values.map(parseKeyId)).size, 1);
    assert.equal(store.of('tokens').length, 1);
    assert.ok((store.of('tokens')[0]?.reserved ?? 0) >= (40 * BLOCK) / 8);
  });
});

describe('two keyrings on one store', () => {
  it('agree on every key, though both start concurrently', async () => {
    const store = new MemoryStore();
    const rings = Array.from({ length: 5 }, () => ringOn(store));
    await Promise.all(rings.map((ring) => begin(ring, store, ['service', 'production', 'sandbox'])));
    assert.equal(store.of('wrapping').length, 3);
    const values = await Promise.all(rings.map((ring, index) => sealed(ring, String(index))));
    assert.equal(store.of('tokens').length, 1);
    assert.equal(new Set(values.map(parseKeyId)).size, 1);
    for (const ring of rings) {
      for (const [index, value] of values.entries()) {
        assert.equal((await ring.unseal(A, 'tokens', CONTEXT, value)).toString(), String(index));
      }
    }
    const owner: KeyOwner = { ...A, purpose: 'fingerprints' };
    const digestKeys = await Promise.all(rings.map((ring) => ring.digestKey(owner)));
    assert.equal(new Set(digestKeys.map((key) => key.export().toString('hex'))).size, 1);
  });

  it('never reserve the same nonces', async () => {
    const store = new MemoryStore();
    const granted: [string, number, number][] = [];
    const reserve = store.reserve.bind(store);
    store.reserve = async (key, to) => {
      const done = await reserve(key, to);
      if (done) granted.push([key.id, key.reserved, to]);
      return done;
    };
    const rings = Array.from({ length: 4 }, () => ringOn(store));
    await sealed(ringOn(store), 'x');
    store.setReserved('tokens', LIMITS.sealsPerDataKey - 3 * BLOCK);
    granted.length = 0;
    const rounds = rings.flatMap((ring) => [1, 2, 3].map(() => ring.sealer(A, 'tokens', BLOCK)));
    const values = (await Promise.all(rounds)).map((seal) => seal(CONTEXT, 'x'));
    assert.ok(granted.length >= rounds.length);
    for (const row of store.of('tokens')) {
      const blocks = granted.filter(([id]) => id === row.id).sort(([, one], [, other]) => one - other);
      for (const [index, [, from, to]] of blocks.entries()) {
        assert.ok(from < to && to <= LIMITS.sealsPerDataKey);
        assert.ok(index === 0 || from >= (blocks[index - 1]?.[2] ?? 0), 'two blocks overlap');
      }
      const uses = values.filter((value) => parseKeyId(value) === row.id).length * BLOCK;
      assert.ok(uses <= blocks.reduce((sum, [, from, to]) => sum + to - from, 0));
    }
    assert.deepEqual(
      store.of('tokens').map(({ version }) => version),
      [1, 2],
    );
  });
});

describe('the root key', () => {
  it('of another database is recognized', async () => {
    const store = new MemoryStore();
    await begin(ringOn(store), store, ['service', 'sandbox']);
    const value = await sealed(ringOn(store), 'x');
    const other = ringOn(store, createSecretKey(Buffer.alloc(32, 2)));
    await assert.rejects(other.initialize(['service', 'sandbox']), WrongRootKeyError);
    await assert.rejects(other.unseal(A, 'tokens', CONTEXT, value), WrongRootKeyError);
    await assert.rejects(other.sealer(A, 'tokens', 1), WrongRootKeyError);
    const fits = ringOn(store, createSecretKey(Buffer.alloc(32, 1)));
    await fits.initialize(['service', 'sandbox']);
    assert.equal(store.of('wrapping').length, 2);
  });

  it('is not the wrapping key itself', async () => {
    const store = new MemoryStore();
    await begin(ringOn(store), store, ['service']);
    const [row] = store.of('wrapping');
    assert.ok(row);
    assert.equal(parseKeyId(row.wrapped), '0'.repeat(16));
    const context = encryptionContext('keys', 'service', '', 'wrapping', '1', row.id);
    assert.throws(() => unseal(ROOT, context, row.wrapped), UnsealError);
  });
});

describe('a wrapped key', () => {
  it('unseals in no other row', async () => {
    const store = new MemoryStore();
    await sealed(ringOn(store), 'x');
    const value = await sealed(ringOn(store), 'x', { tenant: { ...A, account: 'acc_b' } });
    const [mine, theirs] = store.of('tokens');
    assert.ok(mine && theirs && theirs.account === 'acc_b');
    // An attacker with write access to the database assigns the key of one account to the other.
    for (const moved of [
      { ...theirs, account: 'acc_a', version: 2 },
      { ...theirs, purpose: 'captures' as const },
      { ...theirs, wrapped: mine.wrapped },
      { ...theirs, version: 7 },
    ]) {
      const changed = new MemoryStore();
      for (const row of store.rows.values()) changed.rows.set(row.id, row);
      changed.rows.set(theirs.id, moved);
      const tenant: Tenant = { account: moved.account, environment: 'sandbox' };
      await assert.rejects(ringOn(changed).unseal(tenant, moved.purpose, CONTEXT, value), UnsealError);
    }
    assert.equal((await ringOn(store).unseal({ ...A, account: 'acc_b' }, 'tokens', CONTEXT, value)).toString(), 'x');
  });
});

describe('digestKey', () => {
  it('remains the first version, and differs between owners', async () => {
    const store = new MemoryStore();
    const owner: KeyOwner = { ...A, purpose: 'fingerprints' };
    const ring = ringOn(store);
    const first = (await ring.digestKey(owner)).export().toString('hex');
    store.setReserved('fingerprints', LIMITS.sealsPerDataKey);
    await ringOn(store).sealer(A, 'fingerprints', 1);
    assert.equal(store.of('fingerprints').length, 2);
    for (const reader of [ring, ringOn(store)]) {
      assert.equal((await reader.digestKey(owner)).export().toString('hex'), first);
    }
    const others = [
      { ...owner, account: 'acc_b' },
      { ...owner, environment: 'production' as const },
      { ...owner, purpose: 'api-keys' as const },
    ];
    const keys = await Promise.all(others.map(async (other) => (await ring.digestKey(other)).export().toString('hex')));
    assert.equal(new Set([first, ...keys]).size, 4);
  });
});
