import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createCa, createServerCertificate } from '../../src/crypto/certificate.ts';
import { StorageError } from '../../src/storage/database.ts';
import { parseAddress } from '../../src/storage/postgres/address.ts';
import { Connection } from '../../src/storage/postgres/connection.ts';
import { type Postgres, startPostgres } from '../fixtures/postgres.ts';
import { whyNoPostgres } from '../fixtures/postgres-binaries.ts';
import { newIdentity } from '../receivers/certificates.ts';
import { operate } from './postgres-fixture.ts';

const USED = 'select ssl, client_dn is not null as known from pg_stat_ssl where pid = pg_backend_pid()';

describe('PostgreSQL with TLS', { skip: whyNoPostgres(), timeout: 120_000 }, () => {
  let postgres: Postgres;
  let address: string;
  const folder = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
  const file = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  let ca: string;
  let other: string;
  let client: string;

  before(async () => {
    const now = Date.now();
    const authority = await createCa(now);
    const { certificate, key } = await createServerCertificate(authority, [{ type: 'ip', value: '127.0.0.1' }], now);
    const known = await newIdentity('node');
    const stranger = await newIdentity('stranger');
    ca = file('ca.pem', authority.certificate);
    other = file('other.pem', (await createCa(now)).certificate);
    client = `&sslcert=${file('c.pem', known.certificate)}&sslkey=${file('k.pem', known.privateKey)}`;
    file('sc.pem', stranger.certificate);
    file('sk.pem', stranger.privateKey);
    const tls = { cert: certificate, key, ca: known.certificate };
    postgres = await startPostgres({ tls, isCareless: true });
    address = await postgres.newDatabase();
  });
  after(async () => {
    await postgres.stop();
    rmSync(folder, { recursive: true });
  });

  const query = async (parameters: string, host = '127.0.0.1', passwordFile?: string): Promise<object> => {
    const options = {
      address: parseAddress(`${address.replace('127.0.0.1', host)}?${parameters}`),
      passwordFile,
      connectTimeoutMs: 5000,
      statementTimeoutMs: 5000,
    };
    const connection = await Connection.open(options);
    try {
      return { ...(await connection.run({ name: '', text: USED, values: [] }))[0] };
    } finally {
      await connection.close();
    }
  };
  const readPassword = (): string => /:([^:@]+)@/.exec(address)?.[1] ?? '';

  test('valid and invalid CAs and host names', async () => {
    const fine = { ssl: true, known: false };
    assert.deepEqual(await query('sslmode=require'), fine);
    assert.deepEqual(await query('sslmode=require', 'localhost'), fine);
    assert.deepEqual(await query(`sslmode=verify-ca&sslrootcert=${ca}`), fine);
    assert.deepEqual(await query(`sslmode=verify-ca&sslrootcert=${ca}`, 'localhost'), fine);
    assert.deepEqual(await query(`sslmode=verify-full&sslrootcert=${ca}`), fine);
    const refused: readonly [string, string, RegExp][] = [
      ['sslmode=disable', '127.0.0.1', /it refuses the user/],
      ['', '127.0.0.1', /it refuses the user/],
      [`sslmode=verify-full&sslrootcert=${ca}`, 'localhost', /ERR_TLS_CERT_ALTNAME_INVALID/],
      [`sslmode=verify-ca&sslrootcert=${other}`, '127.0.0.1', /CERT|SIGNATURE|ISSUER/],
      [`sslmode=verify-full&sslrootcert=${other}`, '127.0.0.1', /CERT|SIGNATURE|ISSUER/],
      ['sslmode=verify-full', '127.0.0.1', /CERT|SIGNATURE|ISSUER/],
      [`sslmode=verify-ca&sslrootcert=${folder}/none`, '127.0.0.1', /the sslrootcert cannot be read: ENOENT/],
    ];
    for (const [parameters, host, message] of refused) {
      await assert.rejects(query(parameters, host), (error: Error) => {
        assert.match(error.message, message, parameters);
        assert.ok(!error.message.includes(readPassword()));
        return error instanceof StorageError;
      });
    }
  });

  test('a client certificate, where the server requires one', async () => {
    assert.deepEqual(await query(`sslmode=verify-full&sslrootcert=${ca}${client}`), { ssl: true, known: true });
    const rules = join(postgres.directory, 'data', 'pg_hba.conf');
    const owner = 'host all postgres 127.0.0.1/32 scram-sha-256\n';
    writeFileSync(rules, `${owner}hostssl all cardvault 127.0.0.1/32 scram-sha-256 clientcert=verify-ca\n`);
    await operate(postgres.ways.superuser, 'select pg_reload_conf()');
    assert.deepEqual(await query(`sslmode=verify-full&sslrootcert=${ca}${client}`), { ssl: true, known: true });
    const strange = `&sslcert=${folder}/sc.pem&sslkey=${folder}/sk.pem`;
    for (const identity of ['', strange])
      await assert.rejects(query(`sslmode=verify-full&sslrootcert=${ca}${identity}`), StorageError);
    writeFileSync(rules, `${owner}hostssl all cardvault 127.0.0.1/32 scram-sha-256\n`);
    await operate(postgres.ways.superuser, 'select pg_reload_conf()');
  });

  test('a password file is read for each connection', async () => {
    const path = file('password', `${readPassword()}\n`);
    await query('sslmode=require', '127.0.0.1', path);
    await operate(postgres.ways.superuser, `alter role cardvault password 'another one'`);
    await assert.rejects(query('sslmode=require', '127.0.0.1', path), { message: /it refuses the password/ });
    file('password', 'another one\r\n');
    await query('sslmode=require', '127.0.0.1', path);
    await assert.rejects(
      query('sslmode=require', '127.0.0.1', `${path}.none`),
      /the password file cannot be read: ENOENT/,
    );
  });
});
