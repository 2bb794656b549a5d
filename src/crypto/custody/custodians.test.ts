import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { generateX25519Identity, identityToRecipient } from 'age-encryption';
import { LIMITS } from '../../kernel/limits.ts';
import { CustodyError, keyCheckValue, SealedError } from '../custody.ts';
import { assertShares, type HeldCeremony, holdCeremony, type NewCustodian } from './ceremony.ts';
import { custodiansCustody, noteAcknowledgement, readCustodiansFile, replaceForCustodians } from './custodians-file.ts';
import { ShareCollector } from './share-collector.ts';
import { needsPassphrase, openShareFile, type Share } from './share-file.ts';

const PASSPHRASE = 'a passphrase of custodian three';
const folder = mkdtempSync(join(tmpdir(), 'cardvault-ceremony-'));
after(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

interface Trial {
  readonly held: HeldCeremony;
  readonly file: string;
  /** Copies, because a collector clears what it is given. */
  share(index: number): Share;
}

const root = createSecretKey(randomBytes(32));
let identities: string[] = [];
let trial: Trial;

async function hold(threshold = 2): Promise<Trial> {
  const recipients = await Promise.all(identities.map((each) => identityToRecipient(each)));
  const custodians: NewCustodian[] = [
    ...recipients.map((recipient, at) => ({ name: `Ana ${at + 1}`, key: { kind: 'recipient', recipient } as const })),
    { name: 'Teo', key: { kind: 'passphrase', passphrase: PASSPHRASE, scryptLogN: 4 } },
  ];
  const held = await holdCeremony(root, custodians, threshold);
  const file = join(folder, `${files++}.sealed`);
  writeFileSync(file, held.rootKeyFile, { mode: 0o600 });
  const shares = await Promise.all(
    held.shareFiles.map(({ content }, at) =>
      openShareFile(content, at < 2 ? { identities: [identities[at] ?? ''] } : { passphrase: PASSPHRASE }, 'file'),
    ),
  );
  const share = (index: number): Share => {
    const found = shares[index - 1] as Share;
    return { ...found, share: Uint8Array.from(found.share) };
  };
  return { held, file, share };
}

before(async () => {
  identities = [await generateX25519Identity(), await generateX25519Identity()];
  trial = await hold();
});

const clockAt = { now: 0 };
const collectorFor = (file: string): ShareCollector =>
  new ShareCollector({ file, group: undefined, clock: () => clockAt.now });
const isCleared = ({ share }: Share): boolean => share.every((byte) => byte === 0);

describe('a ceremony', () => {
  test('writes shares that only their custodians open, and no secret in clear', async () => {
    const { held } = trial;
    const texts = [held.rootKeyFile, ...held.shareFiles.map(({ content }) => content)];
    const secrets = [root.export(), ...[1, 2, 3].map((index) => Buffer.from(trial.share(index).share))];
    for (const secret of secrets)
      for (const form of ['hex', 'base64', 'latin1'] as const)
        for (const text of texts) assert.ok(!text.includes(secret.toString(form).slice(0, 16)));
    const [first = { content: '' }, , third = { content: '' }] = held.shareFiles;
    await assert.rejects(openShareFile(first.content, { identities: [identities[1] ?? ''] }, 'f'), /does not open f/);
    await assert.rejects(openShareFile(third.content, { passphrase: 'another passphrase' }, 'f'), /does not open f/);
    assert.deepEqual(await Promise.all(held.shareFiles.map(({ content }) => needsPassphrase(content, 'f'))), [
      false,
      false,
      true,
    ]);
    await assert.rejects(openShareFile('no armor', {}, 'f'), /no share file/);
  });

  test('states its custodians in the root key file, with their check values', () => {
    const { ceremony, keyCheckValue: value, acknowledged } = readCustodiansFile(trial.file);
    assert.equal(value, keyCheckValue(root));
    assert.deepEqual(
      ceremony.custodians.map(({ index, name }) => [index, name]),
      [
        [1, 'Ana 1'],
        [2, 'Ana 2'],
        [3, 'Teo'],
      ],
    );
    assert.deepEqual([ceremony.threshold, acknowledged], [2, []]);
  });

  test('has limits', () => {
    for (const [shares, threshold] of [
      [1, 1],
      [256, 2],
      [3, 1],
      [3, 4],
    ] as const)
      assert.throws(() => assertShares(shares, threshold), CustodyError);
    assertShares(255, 255);
    assertShares(2, 2);
  });
});

describe('shares', () => {
  test('of any custodians open the root key once there are enough of them, and are cleared', async () => {
    for (const pair of [
      [1, 2],
      [3, 1],
      [2, 3],
    ] as const) {
      const collector = collectorFor(trial.file);
      const [one, other] = pair.map(trial.share) as [Share, Share];
      assert.equal(await collector.add(one, 'socket uid:1'), undefined);
      assert.deepEqual(collector.progress, { threshold: 2, given: [one.index], isUnsealed: false });
      const unsealing = await collector.add(other, 'tls 10.0.0.1');
      assert.ok(unsealing?.roots.root.equals(root));
      assert.deepEqual(unsealing?.record.shares, [
        `${one.index} ${one.custodian} by socket uid:1`,
        `${other.index} ${other.custodian} by tls 10.0.0.1`,
      ]);
      assert.ok(isCleared(one) && isCleared(other));
      assert.deepEqual(collector.progress.given, []);
    }
  });

  test('that are given twice count once', async () => {
    const collector = collectorFor(trial.file);
    assert.equal(await collector.add(trial.share(1), 'a'), undefined);
    assert.equal(await collector.add(trial.share(1), 'a'), undefined);
    assert.deepEqual(collector.progress.given, [1]);
  });

  test('that are wrong are named, and do not spoil the others', async () => {
    const collector = collectorFor(trial.file);
    await collector.add(trial.share(1), 'a');
    const altered = trial.share(2);
    altered.share[0] = (altered.share[0] ?? 0) ^ 1;
    await assert.rejects(collector.add(altered, 'a'), /share 2 is wrong/);
    assert.ok(isCleared(altered));
    await assert.rejects(collector.add({ ...trial.share(2), index: 9 }, 'a'), /share 9 is wrong/);
    const other = await hold();
    await assert.rejects(collector.add(other.share(2), 'a'), /share 2 is of another ceremony/);
    const unsealing = await collector.add(trial.share(3), 'a');
    assert.ok(unsealing?.roots.root.equals(root));
    assert.equal(unsealing?.record.rejected, 3);
  });

  test('are cleared when the others do not come in time', async () => {
    const collector = collectorFor(trial.file);
    const share = trial.share(1);
    await collector.add(share, 'a');
    clockAt.now += LIMITS.unsealMs;
    assert.deepEqual(collector.progress.given, [1]);
    clockAt.now += 1;
    assert.deepEqual(collector.progress.given, []);
    assert.ok(isCleared(share));
  });

  test('cannot be guessed: a source has a limited number of wrong ones', async () => {
    const collector = collectorFor(trial.file);
    const wrong = (): Share => ({ ...trial.share(1), share: new Uint8Array(33) });
    for (let tries = 0; tries < LIMITS.unsealFailures; tries++)
      await assert.rejects(collector.add(wrong(), 'tls 10.0.0.1'), /is wrong/);
    await assert.rejects(collector.add(trial.share(1), 'tls 10.0.0.1'), /too many wrong shares/);
    assert.equal(await collector.add(trial.share(1), 'socket uid:1'), undefined, 'other sources are not affected');
    clockAt.now += LIMITS.unsealMs + 1;
    assert.equal(await collector.add(trial.share(2), 'tls 10.0.0.1'), undefined);
  });

  test('are taken by the socket, however many addresses of the network gave wrong ones', async () => {
    const collector = collectorFor(trial.file);
    const wrong = (): Share => ({ ...trial.share(1), share: new Uint8Array(33) });
    for (let source = 0; source < LIMITS.unsealSources; source++)
      await assert.rejects(collector.add(wrong(), `tls 10.0.${source >> 8}.${source & 255}`), /is wrong/);
    await assert.rejects(collector.add(trial.share(1), 'tls 192.0.2.1'), /too many wrong shares/);
    for (let tries = 0; tries < LIMITS.unsealFailures; tries++)
      await assert.rejects(collector.add(wrong(), 'socket uid:1'), /is wrong/);
    await assert.rejects(collector.add(trial.share(1), 'socket uid:1'), /too many wrong shares/);
    assert.equal(await collector.add(trial.share(1), 'socket uid:2'), undefined);
    const unsealing = await collector.add(trial.share(2), 'socket uid:2');
    assert.ok(unsealing?.roots.root.equals(root));
  });

  test('are counted by network of IPv6, and by address of IPv4', async () => {
    const collector = collectorFor(trial.file);
    const wrong = (): Share => ({ ...trial.share(1), share: new Uint8Array(33) });
    for (let tries = 0; tries < LIMITS.unsealFailures; tries++) {
      await assert.rejects(collector.add(wrong(), `tls 2001:db8::${tries + 1}`), /is wrong/);
      await assert.rejects(collector.add(wrong(), 'tls ::ffff:10.0.0.1'), /is wrong/);
    }
    for (const source of ['tls 2001:db8::ff', 'tls ::ffff:10.0.0.1', 'tls 10.0.0.1'])
      await assert.rejects(collector.add(trial.share(1), source), /too many wrong shares/, source);
    for (const source of ['tls 2001:db8:0:1::1', 'tls ::ffff:10.0.0.2'])
      assert.equal(await collector.add(trial.share(1), source), undefined, source);
  });

  test('do not open a root key file whose custodians were changed', async () => {
    const { file, share } = await hold();
    const content = JSON.parse(readFileSync(file, 'utf8'));
    content.sealed.custodians[0].name = 'Mallory';
    writeFileSync(file, JSON.stringify(content));
    const collector = collectorFor(file);
    await collector.add(share(1), 'a');
    await assert.rejects(collector.add(share(2), 'a'), /file was changed/);
  });
});

const NO_NODE = {
  open: () => Promise.reject(new SealedError()),
  replaceRootKey: () => Promise.reject(new SealedError()),
};

describe('custody by custodians', () => {
  test('seals another root key without them, which their shares open together with the former one', async () => {
    const { file, share } = await hold();
    noteAcknowledgement(file, 3);
    const next = createSecretKey(randomBytes(32));
    await replaceForCustodians(file, next);
    const collector = collectorFor(file);
    await collector.add(share(1), 'a');
    const { roots } = (await collector.add(share(2), 'a')) ?? {};
    assert.ok(roots?.root.equals(next) && roots.previous?.equals(root));
    custodiansCustody(file, NO_NODE).finishReplacement();
    assert.deepEqual(readCustodiansFile(file).acknowledged, [3], 'the custodians need not prove their shares again');
  });

  test('needs a ceremony first', async () => {
    const custody = custodiansCustody(join(folder, 'none'), NO_NODE);
    assert.equal(custody.exists(), false);
    await assert.rejects(custody.open(), /cardvault keyring ceremony/);
    await assert.rejects(custody.create(), /cardvault keyring ceremony/);
  });
});
