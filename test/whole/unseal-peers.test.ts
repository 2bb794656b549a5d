import assert from 'node:assert/strict';
import { createSecretKey, randomBytes, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { connect, createServer as createTlsServer } from 'node:tls';
import type { UnsealPeer, UnsealPeersSettings } from '../../src/config.ts';
import { createCa, createServerCertificate } from '../../src/crypto/certificate.ts';
import type { RootKeys } from '../../src/crypto/custody.ts';
import { DAY } from '../../src/kernel/clock.ts';
import { fetchFromPeer, listenForPeers, type PeerListener } from '../../src/unseal-peers.ts';
import { fingerprintOf } from '../fixtures/unseal-peers.ts';

const NAMES = ['giver', 'taker', 'stranger'] as const;
type Name = (typeof NAMES)[number];
const CEREMONY = 'ab'.repeat(8);
const roots = { root: createSecretKey(randomBytes(32)), previous: createSecretKey(randomBytes(32)) };

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port: free } = probe.address() as AddressInfo;
      probe.close(() => resolve(free));
    });
  });

describe('nodes that unseal each other', () => {
  let folder: string;
  let port = 0;
  let listener: PeerListener;
  const fingerprints = new Map<Name, string>();
  const given: string[] = [];
  const refused: string[] = [];
  const settings = (own: Name, peers: readonly UnsealPeer[]): UnsealPeersSettings => ({
    port,
    identity: { certificate: join(folder, `${own}.pem`), key: join(folder, `${own}.key`) },
    peers,
  });
  const peer = (name: Name): UnsealPeer => ({ host: '127.0.0.1', port, fingerprint: fingerprints.get(name) ?? '' });
  const fetchAs = (own: Name, pinned: Name, ceremony = CEREMONY) =>
    fetchFromPeer(settings(own, []), peer(pinned), ceremony);

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'cardvault-peers-'));
    const ca = await createCa(Date.now());
    for (const name of NAMES) {
      const { certificate, key } = await createServerCertificate(ca, [{ type: 'dns', value: name }], Date.now());
      writeFileSync(join(folder, `${name}.pem`), certificate);
      writeFileSync(join(folder, `${name}.key`), key, { mode: 0o600 });
      fingerprints.set(name, fingerprintOf(certificate));
    }
    port = await freePort();
    listener = await listenForPeers(settings('giver', [peer('taker')]), {
      hosts: [{ address: '127.0.0.1', mayBeMissing: false }],
      ceremony: CEREMONY,
      giveRootKeys: async (recipient) => {
        given.push(recipient);
        return roots;
      },
      onRefused: (reason) => refused.push(reason),
    });
  });
  after(async () => {
    await listener.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test('give the root key to a pinned certificate, on record', async () => {
    const fetched = await fetchAs('taker', 'giver');
    assert.ok(fetched?.root.equals(roots.root) && fetched.previous?.equals(roots.previous));
    assert.deepEqual(given, [`peer ${fingerprints.get('taker')} at 127.0.0.1`]);
  });

  test('give nothing to another certificate of the same CA, or without one, or of another ceremony', async () => {
    assert.equal(await fetchAs('stranger', 'giver'), undefined);
    assert.equal(await fetchAs('taker', 'giver', 'cd'.repeat(8)), undefined);
    const without = await new Promise<string>((resolve) => {
      const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () =>
        socket.write(`${JSON.stringify({ ceremony: CEREMONY })}\n`),
      );
      let text = '';
      socket.on('data', (chunk: Buffer) => {
        text += String(chunk);
      });
      socket.on('error', () => undefined);
      socket.on('close', () => resolve(text));
    });
    assert.equal(without, '');
    assert.deepEqual(refused, ['unknown certificate', 'another ceremony', 'no certificate']);
    assert.equal(given.length, 1);
  });

  test('take nothing from another certificate than the pinned one, and do not talk to it', async () => {
    assert.equal(await fetchAs('taker', 'stranger'), undefined);
    assert.equal(given.length, 1, 'the request was not sent');
  });

  test('accept a pinned certificate whose time is over, on both sides', async () => {
    // The settings pin certificates, so an operator ends the trust in one by removing it there.
    const ended = Date.now() - 400 * DAY;
    const ca = await createCa(ended);
    const own = await createServerCertificate(ca, [{ type: 'dns', value: 'ended' }], ended);
    assert.ok(new X509Certificate(own.certificate).validToDate.getTime() < Date.now());
    writeFileSync(join(folder, 'ended.pem'), own.certificate);
    writeFileSync(join(folder, 'ended.key'), own.key, { mode: 0o600 });
    const identity = { certificate: join(folder, 'ended.pem'), key: join(folder, 'ended.key') };
    const fingerprint = fingerprintOf(own.certificate);
    const at = { host: '127.0.0.1', port: await freePort(), fingerprint };
    const both = { port: at.port, identity, peers: [at] };
    const giving = await listenForPeers(both, {
      hosts: [{ address: '127.0.0.1', mayBeMissing: false }],
      ceremony: CEREMONY,
      giveRootKeys: async () => roots,
      onRefused: (reason) => refused.push(reason),
    });
    try {
      const fetched = await fetchFromPeer(both, at, CEREMONY);
      assert.ok(fetched?.root.equals(roots.root));
    } finally {
      await giving.close();
    }
  });

  test('ask the next one after a pinned one that sends something else than a root key', async () => {
    const short = Buffer.alloc(16).toString('base64');
    const right = roots.root.export().toString('base64');
    for (const line of ['no json', 'null', `{"root":"${short}"}`, `{"root":"${right}","previous":"${short}"}`]) {
      const identity = {
        cert: readFileSync(join(folder, 'stranger.pem')),
        key: readFileSync(join(folder, 'stranger.key')),
      };
      const server = createTlsServer(identity, (socket) => {
        socket.on('error', () => socket.destroy());
        socket.once('data', () => socket.end(`${line}\n`));
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port: other } = server.address() as AddressInfo;
      let malformed = 0;
      let found: RootKeys | undefined;
      try {
        for (const each of [{ ...peer('stranger'), port: other }, peer('giver')])
          found ??= await fetchFromPeer(settings('taker', []), each, CEREMONY, () => malformed++);
      } finally {
        await new Promise((resolve) => server.close(resolve));
      }
      assert.ok(found?.root.equals(roots.root) && found.previous?.equals(roots.previous), line);
      assert.equal(malformed, 1, line);
    }
  });

  test('take nothing from a node that is not reached', async () => {
    const unreachable = { ...peer('giver'), port: 1 };
    assert.equal(await fetchFromPeer(settings('taker', []), unreachable, CEREMONY), undefined);
  });
});
