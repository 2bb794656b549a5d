import assert from 'node:assert/strict';
import { execFile, spawn, spawnSync } from 'node:child_process';
import { createSecretKey, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { LIMITS } from '../../kernel/limits.ts';
import { CustodyError, type RootKeys, SealedError } from '../custody.ts';
import {
  callLocalSocket,
  fetchRootKeys,
  isPlacedByOwner,
  type OpenSocket,
  openLocalSocket,
  type SocketService,
  sendNextRootKey,
} from './local-socket.ts';

const USER = `uid:${process.geteuid?.()}`;
const roots: RootKeys = {
  root: createSecretKey(randomBytes(32)),
  previous: createSecretKey(randomBytes(32)),
};
const progress = { threshold: 3, given: [2], isUnsealed: false };

/** Numbers without names: the test creates no users. */
const MEMBER = 61_002;
const STRANGER = 61_003;
const GROUP = 62_000;
const asUser = (user: number, groups: string): string[] => [
  `--reuid=${user}`,
  `--regid=${user}`,
  groups,
  process.execPath,
];
const runsAsOther = (): boolean => {
  const read = ['--eval', `require('node:fs').readFileSync(${JSON.stringify(import.meta.filename)})`];
  return spawnSync('setpriv', [...asUser(MEMBER, '--clear-groups'), ...read], { env: {} }).status === 0;
};
const cannotChangeUser =
  process.geteuid?.() !== 0
    ? 'only root can run commands as other users'
    : !runsAsOther() && 'other users of this machine cannot run the project';

describe('the local socket', () => {
  let folder: string;
  let open: OpenSocket | undefined;
  let calls: string[] = [];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'cv-'));
    calls = [];
  });
  afterEach(async () => {
    await open?.close();
    open = undefined;
    rmSync(folder, { recursive: true, force: true });
  });
  const place = () => ({ path: join(folder, 'run', 'unseal.sock'), group: undefined });
  const service: SocketService = {
    progress: () => progress,
    nodeKey: 'key',
    addShare: async ({ index, share }, peer) => {
      calls.push(`${index} ${share} ${peer}`);
      if (index === 9) throw new CustodyError('share 9 is wrong');
      return progress;
    },
    giveRootKeys: async (peer) => {
      calls.push(peer);
      if (calls.length > 1) throw new SealedError();
      return roots;
    },
    replaceRootKey: async (next) => {
      calls.push(next.export().toString('hex'));
    },
  };
  const start = async (): Promise<void> => {
    open = await openLocalSocket(place(), service);
  };

  test('gives the root key to the user of the service, and says when it is sealed', async () => {
    await start();
    const { root, previous } = await fetchRootKeys(place());
    assert.ok(root.equals(roots.root) && previous?.equals(roots.previous as RootKeys['root']));
    assert.deepEqual(calls, [USER]);
    await assert.rejects(fetchRootKeys(place()), SealedError);
    assert.deepEqual(readdirSync(dirname(place().path)), ['unseal.sock'], 'no proof of a user is left');
  });

  test('takes the next root key', async () => {
    await start();
    const next = createSecretKey(randomBytes(32));
    await sendNextRootKey(place(), next);
    assert.deepEqual(calls, [next.export().toString('hex')]);
    await open?.close();
    await assert.rejects(sendNextRootKey(place(), next), SealedError);
  });

  test('takes shares, with the proven user', async () => {
    await start();
    const share = { command: 'share', ceremony: 'c', share: 'abc' } as const;
    assert.deepEqual(await callLocalSocket(place(), { ...share, index: 1 }), { ok: true, progress });
    assert.deepEqual(calls, [`1 abc ${USER}`]);
    await assert.rejects(callLocalSocket(place(), { ...share, index: 9 }), /^CustodyError: share 9 is wrong$/);
    assert.deepEqual(await callLocalSocket(place(), { command: 'status' }), { ok: true, progress, key: 'key' });
  });

  test('is closed to other users', async () => {
    await start();
    assert.equal(statSync(dirname(place().path)).mode & 0o777, 0o700);
    assert.equal(statSync(place().path).mode & 0o777, 0o600);
  });

  test('gives nothing to a client that does not prove its user', async () => {
    await start();
    const talk = (proof: (nonce: string) => void): Promise<string> =>
      new Promise((resolve) => {
        const socket = connect(place().path);
        let text = '';
        socket.setEncoding('utf8').on('data', (chunk: string) => {
          const isFirst = text === '';
          text += chunk;
          if (!isFirst) return;
          proof(JSON.parse(chunk).nonce);
          socket.write('{"command":"root-key"}\n');
        });
        socket.on('close', () => resolve(text.split('\n')[1] ?? ''));
      });
    const file = (nonce: string): string => join(dirname(place().path), `proof-${nonce.slice(0, 32)}`);
    for (const proof of [
      () => undefined,
      (nonce: string) => writeFileSync(file(nonce), 'x'.repeat(nonce.length)),
      (nonce: string) => writeFileSync(file(nonce), `${nonce} `),
    ])
      assert.match(await talk(proof), /the user of the connection is not proven/);
    assert.match(await talk((nonce) => writeFileSync(file(nonce), nonce)), /"root"/);
    assert.equal(calls.length, 1);
  });

  test('refuses messages that are malformed or too long', async () => {
    await start();
    const send = (text: string): Promise<string> =>
      new Promise((resolve) => {
        const socket = connect(place().path, () => socket.write(text));
        let received = '';
        socket.setEncoding('utf8').on('data', (chunk: string) => {
          received += chunk;
        });
        socket.on('error', () => undefined);
        socket.on('close', () => resolve(received));
      });
    assert.match(await send('no json\n'), /malformed/);
    assert.match(await send('{"command":"other"}\n'), /malformed/);
    assert.match(await send('x'.repeat(LIMITS.socketLineBytes + 1)), /too long/);
    assert.deepEqual(calls, []);
  });

  test('is taken over from a process that was killed, and from no other', async () => {
    await start();
    await assert.rejects(openLocalSocket(place(), service), /another process already uses the socket/);
    await open?.close();
    // A server that is closed removes its socket; one that was killed does not.
    writeFileSync(place().path, '');
    await start();
    assert.ok(await callLocalSocket(place(), { command: 'status' }));
  });

  test('is not used in a folder that others can enter', async () => {
    mkdirSync(dirname(place().path), { mode: 0o755 });
    chmodSync(dirname(place().path), 0o755);
    await assert.rejects(start(), /chmod 700/);
    const server = createServer().listen(place().path);
    await assert.rejects(callLocalSocket(place(), { command: 'status' }), /chmod 700/);
    server.close();
  });

  test('has a path that fits into an address', async () => {
    const long = { path: join(folder, 'x'.repeat(100), 's'), group: undefined };
    await assert.rejects(openLocalSocket(long, service), /CARDVAULT_SOCKET/);
    await assert.rejects(callLocalSocket(long, { command: 'status' }), /CARDVAULT_SOCKET/);
  });

  test('is in a folder of the group where no member replaces the entry of another', async () => {
    const shared = { ...place(), group: process.getegid?.() };
    const modeOf = (path: string): number => statSync(path).mode & 0o7777;
    open = await openLocalSocket(shared, service);
    assert.deepEqual([modeOf(dirname(shared.path)), modeOf(shared.path)], [0o3770, 0o660]);
    assert.ok((await fetchRootKeys(shared)).root.equals(roots.root));
    await open.close();
    // An earlier version created it with this mode.
    chmodSync(dirname(shared.path), 0o2770);
    open = await openLocalSocket(shared, service);
    assert.equal(modeOf(dirname(shared.path)), 0o3770);
  });

  test('is used only when the owner of its folder, root or the user itself opened it', () => {
    const [owner, user] = [61_001, 61_004];
    const folder = { uid: owner, mode: 0o43770 };
    const socket = (uid: number) => ({ uid, mode: 0o140660 });
    for (const uid of [owner, 0, user]) assert.ok(isPlacedByOwner(socket(uid), folder, user), `${uid}`);
    assert.equal(isPlacedByOwner(socket(MEMBER), folder, user), false);
    // The folder of a member in the data directory, where members may write as well.
    assert.equal(isPlacedByOwner({ uid: MEMBER, mode: 0o43770 }, { uid: owner, mode: 0o42770 }, user), false);
    assert.equal(isPlacedByOwner(socket(MEMBER), { uid: 0, mode: 0o41777 }, user), false);
    assert.ok(isPlacedByOwner({ uid: owner, mode: 0o43770 }, { uid: 0, mode: 0o40755 }, user));
  });

  test('is not replaced by a member of the group', { skip: cannotChangeUser }, async () => {
    chmodSync(folder, 0o755);
    const shared = { ...place(), group: GROUP };
    open = await openLocalSocket(shared, service);
    const argumentsOf = (script: string): string[] => [...asUser(MEMBER, `--groups=${GROUP}`), '--eval', script];
    const path = JSON.stringify(shared.path);
    const rename = `require('node:fs').renameSync(${path}, ${path} + '.moved')`;
    assert.notEqual(spawnSync('setpriv', argumentsOf(rename), { env: {} }).status, 0);
    assert.ok(await callLocalSocket(shared, { command: 'status' }));
    await open.close();
    const listen = `require('node:net').createServer().listen(${path}, () => console.log('listening'))`;
    const member = spawn('setpriv', argumentsOf(listen), { env: {}, stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      await once(member.stdout, 'data');
      assert.equal(statSync(shared.path).uid, MEMBER);
      await assert.rejects(callLocalSocket(shared, { command: 'status' }), /was opened by another user/);
    } finally {
      member.kill('SIGKILL');
      await once(member, 'exit');
    }
    open = await openLocalSocket(shared, service);
    assert.ok(await callLocalSocket(shared, { command: 'status' }), 'the service replaces the socket that was left');
  });

  test('admits the members of a group, each proven, and no other user', { skip: cannotChangeUser }, async () => {
    chmodSync(folder, 0o755);
    const shared = { ...place(), group: GROUP };
    open = await openLocalSocket(shared, service);
    const fetchAs = (user: number, groups: string): Promise<string> => {
      const script = `import { fetchRootKeys } from ${JSON.stringify(new URL('./local-socket.ts', import.meta.url).href)};
        await fetchRootKeys(${JSON.stringify(shared)}).then(() => console.log('given'), ({ name }) => console.log(name));`;
      const args = [...asUser(user, groups), '--input-type=module', '--eval', script];
      return new Promise((resolve) => {
        execFile('setpriv', args, { env: {} }, (_error, stdout) => resolve(stdout.trim()));
      });
    };
    assert.equal(await fetchAs(MEMBER, `--groups=${GROUP}`), 'given');
    assert.deepEqual(calls, [`uid:${MEMBER}`]);
    assert.equal(await fetchAs(STRANGER, '--clear-groups'), 'SealedError');
    assert.equal(calls.length, 1);
  });

  test('is missing while no node runs', async () => {
    assert.equal(await callLocalSocket(place(), { command: 'status' }), undefined);
    await assert.rejects(fetchRootKeys(place()), SealedError);
  });
});
