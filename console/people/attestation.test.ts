import 'reflect-metadata';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import { CRLDistributionPointsExtension, X509CertificateGenerator } from '@peculiar/x509';
import { SettingsService } from '@simplewebauthn/server';
import { LIMITS } from '../../src/kernel/limits.ts';
import { Authenticator, type Wrongs } from '../../test/fixtures/authenticator.ts';
import {
  assertFails,
  CONSOLE,
  openPeopleFixture,
  type PeopleFixture,
  type TestUser,
} from '../../test/fixtures/people-fixture.ts';
import type { Session } from './session.ts';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const DAY_MS = 86_400_000;

describe('a passkey registration that a browser sends', () => {
  let fixture: PeopleFixture;
  let ana: TestUser;
  let key: Authenticator;
  let server: Server;
  /** Requests that the process itself made. */
  const requestedUrls: string[] = [];

  before(async () => {
    fixture = await openPeopleFixture();
    server = createServer((request, response) => {
      requestedUrls.push(String(request.url));
      response.end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  after(async () => {
    server.close();
    await fixture.stop();
  });
  beforeEach(async () => {
    ana = await fixture.newPerson({ account: await fixture.newAccount(), role: 'auditor' });
    key = new Authenticator(CONSOLE.origin);
  });

  const session = async (): Promise<Session> => {
    const found = await fixture.parts.sessions.find(ana.grant.secret);
    return found ?? assert.fail('signed out');
  };
  const options = async () =>
    fixture.run(async (transaction) =>
      fixture.parts.factorManagement.passkeyOptions(transaction, await session(), CONSOLE),
    );
  const confirm = async (response: unknown): Promise<void> =>
    fixture.run(async (transaction) =>
      fixture.parts.factorManagement.confirmPasskey(
        transaction,
        await session(),
        { response, label: 'Laptop' },
        CONSOLE,
      ),
    );
  const add = async (wrongs: Wrongs = {}): Promise<void> => confirm(key.create(await options(), wrongs));
  const passkeys = async (): Promise<number> =>
    (await fixture.parts.factorManagement.list(ana.id)).factors.filter(({ kind }) => kind === 'passkey').length;

  /** A certificate whose revocation list is at our server, and the authority that made it. */
  async function newChain(): Promise<{ authority: string; certificate: Uint8Array }> {
    const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
    const { port } = server.address() as AddressInfo;
    const times = { notBefore: new Date(fixture.now() - DAY_MS), notAfter: new Date(fixture.now() + DAY_MS) };
    const common = { ...times, publicKey: keys.publicKey, signingKey: keys.privateKey, signingAlgorithm: ALGORITHM };
    const authority = { ...common, subject: 'CN=Authority', issuer: 'CN=Authority' };
    const leaf = { ...common, subject: 'CN=Passkey', issuer: 'CN=Authority' };
    const extensions = [new CRLDistributionPointsExtension([`http://127.0.0.1:${port}/internal`])];
    const created = await X509CertificateGenerator.create({ ...leaf, extensions });
    const root = await X509CertificateGenerator.create(authority);
    return { authority: root.toString('pem'), certificate: new Uint8Array(created.rawData) };
  }

  const certified = (fmt: string, certificates: readonly Uint8Array[]): Wrongs => ({
    attestation: {
      fmt,
      attStmt: new Map<string, number | Uint8Array | readonly Uint8Array[]>([
        ['alg', -7],
        ['sig', new Uint8Array(64)],
        ['x5c', certificates],
      ]),
    },
  });

  test('causes no download of revocation lists, and delays no other call, whatever it contains', async () => {
    const { authority, certificate } = await newChain();
    const identifier = 'apple';
    const before = SettingsService.getRootCertificates({ identifier });
    // In the place of an authority that makes certificates for everybody who has its devices.
    SettingsService.setRootCertificates({ identifier, certificates: [authority] });
    try {
      await assertFails('not_possible', add(certified('apple', [certificate])));
      const start = process.cpuUsage();
      await assertFails('not_possible', add(certified('apple', new Array(1900).fill(certificate))));
      assert.ok(process.cpuUsage(start).user < 1_000_000);
    } finally {
      SettingsService.setRootCertificates({ identifier, certificates: before });
    }
    assert.deepEqual(requestedUrls, []);
  });

  test('has no attestation with certificates, and none in another format', async () => {
    const { certificate } = await newChain();
    for (const fmt of ['packed', 'tpm', 'android-key', 'android-safetynet', 'fido-u2f', 'none', 'other'])
      await assertFails('not_possible', add(certified(fmt, [certificate])));
    await assertFails('not_possible', add({ attestation: { fmt: 'packed', attStmt: new Map() } }));
    assert.equal(await passkeys(), 0);
    assert.deepEqual(requestedUrls, []);
  });

  test('may be signed by the passkey itself', async () => {
    await add({ signsItself: true });
    assert.equal(await passkeys(), 1);
  });

  test('is rejected when its signature is not encoded in DER', async () => {
    await assert.rejects(add({ signsItself: true, encodesAsBer: true }), { code: 'not_possible' });
    assert.equal(await passkeys(), 0);
  });

  test('has one attempt for each challenge, also when many are concurrent', async () => {
    const asking = await options();
    await assertFails('not_possible', confirm(key.create(asking, { verified: false })));
    await assertFails('not_possible', confirm(key.create(asking)));
    const again = key.create(await options());
    const results = await Promise.allSettled([confirm(again), confirm(again), confirm(again)]);
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
    assert.equal(await passkeys(), 1);
  });

  test('has no member that is longer than a real one', async () => {
    const members = ['clientDataJSON', 'attestationObject'];
    for (const name of members) {
      const real = key.create(await options()) as { response: Record<string, string> };
      const text = real.response[name] ?? assert.fail(name);
      const padded = text + 'A'.repeat(LIMITS.credentialMemberCharacters - text.length + 1);
      await assertFails('not_possible', confirm({ ...real, response: { ...real.response, [name]: padded } }));
    }
    for (const name of ['id', 'rawId']) {
      const real = key.create(await options()) as object;
      await assertFails('not_possible', confirm({ ...real, [name]: 'A'.repeat(LIMITS.credentialIdCharacters + 1) }));
    }
    const real = key.create(await options()) as { response: object };
    const transports = ['usb', 7, 'x'.repeat(5000), 'DROP', ...new Array(100_000).fill('nfc')];
    await confirm({ ...real, response: { ...real.response, transports, more: 'x'.repeat(100_000) }, more: [] });
    assert.deepEqual((await options()).excludeCredentials?.[0]?.transports, ['usb', ...new Array(6).fill('nfc')]);
  });
});
