import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { Client } from 'pg';
import { createCa, createServerCertificate } from '../../src/crypto/certificate.ts';
import { MINUTE } from '../../src/kernel/clock.ts';
import { readMigrations } from '../../src/storage/migrate.ts';
import { codeAt, VISITOR } from '../fixtures/people-fixture.ts';
import { sharedPostgres } from '../fixtures/postgres.ts';
import { whyNoPostgres } from '../fixtures/postgres-binaries.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { onlyLong } from '../scope.ts';
import { checkKeys, checkPersistent, checkReads, checkReplays, checkUnresolved } from './check-vault.ts';
import {
  type DatabaseKind,
  listReleases,
  readDump,
  readExpected,
  readReleasedMigrations,
  unpackVault,
  whyNotFinal,
} from './releases.ts';

/**
 * The vaults that every release left, opened by this program: all that the release has acknowledged is there, and can be used
 * further. Time continues a few minutes after the release was stopped, because captures in the vault expire.
 */
const PAUSE_MS = 3 * MINUTE;
const RELEASES = listReleases();

interface Upgraded {
  readonly service: TestService;
  readonly end: () => Promise<void>;
}

/** A certificate that clients accept today: the service renews its own by the time in the vault. */
async function writeCertificate(directory: string): Promise<{ authority: string; variables: Record<string, string> }> {
  const authority = await createCa(Date.now());
  const names = [{ type: 'dns' as const, value: 'localhost' }];
  const { certificate, key } = await createServerCertificate(authority, names, Date.now());
  const [certificateFile, keyFile] = ['server.pem', 'server.key'].map((name) => join(directory, name)) as [
    string,
    string,
  ];
  writeFileSync(certificateFile, certificate);
  writeFileSync(keyFile, key, { mode: 0o600 });
  const variables = { CARDVAULT_TLS_CERT: certificateFile, CARDVAULT_TLS_KEY: keyFile };
  return { authority: authority.certificate, variables };
}

async function load(release: string, kind: DatabaseKind, directory: string): Promise<string> {
  if (kind === 'sqlite') {
    unpackVault(release, directory);
    return `sqlite:${join(directory, 'cardvault.db')}`;
  }
  const { sql, rootKey } = readDump(release);
  writeFileSync(join(directory, 'root.key'), rootKey, { mode: 0o600 });
  const address = await (await sharedPostgres()).newDatabase();
  const client = new Client({ connectionString: address });
  await client.connect();
  await client.query(sql);
  await client.end();
  return address;
}

async function upgrade(release: string, kind: DatabaseKind): Promise<Upgraded> {
  const directory = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
  const address = await load(release, kind, directory);
  const { authority, variables } = await writeCertificate(directory);
  const { leftAt } = readExpected(release, kind);
  const service = await startTestService({
    directory,
    authority,
    startsAt: leftAt + PAUSE_MS,
    variables: { ...variables, CARDVAULT_DATABASE_URL: address },
  });
  return {
    service,
    end: async () => {
      await service.stop();
      if (kind === 'postgres') await (await sharedPostgres()).dropDatabase(address);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

test('a release is kept, whose migrations have not changed since', () => {
  assert.ok(RELEASES.length > 0);
  const present = readMigrations();
  for (const release of RELEASES.filter((each) => whyNotFinal(each) === undefined))
    for (const migration of readReleasedMigrations(release))
      assert.deepEqual(
        present.find(({ version }) => version === migration.version),
        migration,
        `${migration.name} was released with ${release}: add a migration, or keep the release again if it was not published`,
      );
});

for (const release of RELEASES)
  for (const kind of ['sqlite', 'postgres'] as const)
    describe(`the vault of release ${release} over ${kind}`, {
      timeout: 240_000,
      skip: whyNotFinal(release) ?? (kind === 'postgres' && (whyNoPostgres() || onlyLong)),
    }, () => {
      test('contains everything after an upgrade, and is used further', async () => {
        const vault = readExpected(release, kind);
        const { service, end } = await upgrade(release, kind);
        try {
          await checkReads(service, vault);
          await checkKeys(service, vault);
          await checkReplays(service, vault);
          await checkPersistent(service, vault);
          await checkRows(service, vault.rows);
          await checkPerson(service, vault.person);
          service.advance(PAUSE_MS);
          await checkUnresolved(service, vault);
        } finally {
          await end();
        }
      });
    });

/** No row is lost. Rows are added by the upgrade itself, and by every request. */
async function checkRows({ core }: TestService, rows: Readonly<Record<string, number>>): Promise<void> {
  for (const table of ['accounts', 'api_keys', 'tokens', 'captures', 'payments', 'journal', 'people', 'factors']) {
    const [row] = await core.database.read(`select count(*) as n from ${table}`);
    assert.ok(Number(rows[table]) > 0, `the release left no ${table}`);
    assert.ok(Number(row?.['n']) >= Number(rows[table]), `${table}: ${row?.['n']} of ${rows[table]}`);
  }
}

/** Signs in with the password and the authenticator app from before the upgrade. */
async function checkPerson(service: TestService, person: ReturnType<typeof readExpected>['person']): Promise<void> {
  const { createPeopleServices } = await import('../../console/people/people-services.ts');
  const { signIn } = createPeopleServices(service.core as Parameters<typeof createPeopleServices>[0]);
  const { session } = await signIn.submitPassword(person, VISITOR);
  const code = codeAt(person.totp, service.now());
  const signedIn = await signIn.submitFactor(session, { kind: 'totp', code }, VISITOR);
  assert.equal(signedIn.session.person, session.person);
}
