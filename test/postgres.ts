import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { type Binaries, installPostgres } from './postgres-binaries.ts';
import { freePort, Home, memoryFolder, Server } from './postgres-server.ts';

/** Databases of a server that the user `cardvault` may make; no superuser, as nodes are to run. */
export interface Databases {
  /** postgres://cardvault:…@127.0.0.1:PORT/NAME of a new, empty database; of that one when there is one already. */
  newDatabase(name?: string): Promise<string>;
  /** Ends every connection to the database of this address or name, and removes it. */
  dropDatabase(address: string): Promise<void>;
  /** The database of this address, for `cardvault_service`, which owns nothing. */
  asService(address: string): string;
}

/** How a server is reached. */
interface Ways {
  /** Address of the superuser, for what operators do. */
  readonly superuser: string;
  /** Address of `cardvault`, without a database. */
  readonly cardvault: string;
  /** The same of `cardvault_service`. */
  readonly service: string;
  /** Words at the end of `create database`. */
  readonly how: string;
}

/** A PostgreSQL server of our own, which ends with this process at the latest. */
export interface Postgres extends Databases {
  /** The folder of its programs. */
  readonly bin: string;
  /** Such as `15.18`. */
  readonly release: string;
  /** Everything it has: `data`, its log, its unix socket. */
  readonly directory: string;
  readonly port: number;
  readonly ways: Ways;
  /** SIGKILL of all its processes at once. */
  kill(): Promise<void>;
  /** Again, on the same data and port. */
  start(): Promise<void>;
  /** Ends it and removes its folder. */
  stop(): Promise<void>;
}

/** PEM. With `ca` the server asks its clients for certificates; those that have none may still come in. */
interface Tls {
  readonly cert: string;
  readonly key: string;
  readonly ca?: string;
}

interface Options {
  /** Lines of its configuration, over ours. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Then `cardvault` may connect with TLS only. */
  readonly tls?: Tls;
  /** Nothing of it outlives a crash of the machine, and that makes it fast. */
  readonly isCareless?: boolean;
}

/** The environment variable with the `ways` to the server of the whole run, as JSON. */
export const SHARED = 'TEST_POSTGRES';
/** For tests that are not about crashes of the machine. */
const CARELESS = { fsync: 'off', full_page_writes: 'off', wal_level: 'minimal', max_wal_senders: '0' };

/** Collations that order text otherwise than by its bytes come first: ours must come from our schema. */
const LOCALES: readonly (readonly string[])[] = [
  ['--locale=C.UTF-8', '--locale-provider=icu', '--icu-locale=en-US'],
  ['--locale=en_US.UTF-8'],
  ['--locale=C.UTF-8'],
  ['--locale=C'],
];

export async function startPostgres(options: Options = {}): Promise<Postgres> {
  const binaries = installPostgres();
  if ('why' in binaries) throw new Error(binaries.why);
  const home = new Home(options.isCareless === true ? memoryFolder() : undefined);
  try {
    return await started(home, binaries, options);
  } catch (error) {
    await home.remove();
    throw error;
  }
}

async function started(
  home: Home,
  { bin: installed, release, version }: Binaries,
  options: Options,
): Promise<Postgres> {
  const bin = home.reachable(installed);
  const data = join(home.directory, 'data');
  const [ownPassword, password] = [newPassword(), newPassword()];
  makeCluster(home, bin, data, ownPassword);
  const port = await freePort();
  const settings = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: home.directory,
    shared_buffers: '32MB',
    max_connections: '200',
    ...(options.tls && putTls(home, data, options.tls)),
    ...(options.isCareless === true && CARELESS),
    ...options.settings,
  };
  const host = options.tls === undefined ? 'host' : 'hostssl';
  const rules = ['host all postgres', 'host replication postgres', `${host} all cardvault,cardvault_service`];
  writeFileSync(join(data, 'pg_hba.conf'), rules.map((rule) => `${rule} 127.0.0.1/32 scram-sha-256\n`).join(''));
  const server = new Server(home, bin, data, settings);
  await server.start();
  const superuser = `postgres://postgres:${ownPassword}@127.0.0.1:${port}/postgres`;
  await query(superuser, `create role cardvault login createdb password '${password}'`);
  await query(superuser, `create role cardvault_service login password '${password}'`);
  const address = `postgres://cardvault:${password}@127.0.0.1:${port}`;
  const service = `postgres://cardvault_service:${password}@127.0.0.1:${port}`;
  // Copying files is faster than logging them, where nothing waits for the disk.
  const how = options.isCareless === true && version >= 15 ? 'strategy = file_copy' : '';
  const ways = { superuser, cardvault: address, service, how };
  return {
    ...databasesOf(ways),
    ways,
    bin,
    release,
    directory: home.directory,
    port,
    kill: () => server.kill(),
    start: () => server.start(),
    stop: () => home.remove(),
  };
}

const newPassword = (): string => randomBytes(16).toString('hex');

function makeCluster(home: Home, bin: string, data: string, password: string): void {
  const passwordFile = join(home.directory, 'password');
  writeFileSync(passwordFile, password, { mode: 0o600 });
  home.give(passwordFile);
  const how = ['-U', 'postgres', '-A', 'scram-sha-256', '--pwfile', passwordFile, '-E', 'UTF8', '--no-sync'];
  const faults: string[] = [];
  for (const locale of LOCALES) {
    try {
      home.run(join(bin, 'initdb'), ['-D', data, ...how, ...locale]);
      return;
    } catch (error) {
      faults.push((error as Error).message);
    }
  }
  throw new Error(faults.join('\n'));
}

function putTls(home: Home, data: string, tls: Tls): Record<string, string> {
  const settings: Record<string, string> = { ssl: 'on' };
  for (const [name, text] of Object.entries(tls)) {
    const file = `${data}.${name}.pem`;
    writeFileSync(file, text, { mode: 0o600 });
    home.give(file);
    settings[`ssl_${name}_file`] = file;
  }
  return settings;
}

/** Databases are made by the superuser, whose way in does not depend on TLS, and belong to `cardvault`. */
const databasesOf = ({ superuser, cardvault, service, how }: Ways): Databases => ({
  asService: (address) => `${service}/${address.replace(/^.*\//, '')}`,
  newDatabase: async (name = `test_${randomBytes(8).toString('hex')}`) => {
    if (!/^[a-z][a-z0-9_]{0,62}$/.test(name)) throw new Error(`${name} is no name for a database`);
    await query(superuser, `create database ${name} owner cardvault ${how}`).catch((error: { code?: string }) => {
      // There is one, or it is being made at this moment.
      if (error.code !== '42P04' && error.code !== '23505') throw error;
    });
    return `${cardvault}/${name}`;
  },
  dropDatabase: async (address) => {
    await query(superuser, `drop database if exists ${address.replace(/^.*\//, '')} with (force)`);
  },
});

async function query(address: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: address });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

let shared: Promise<Databases> | undefined;

/** Those of the server of this run, or of one that this process starts when a file is run alone. */
export function sharedPostgres(): Promise<Databases> {
  const given = process.env[SHARED] ?? '';
  shared ??=
    given === '' ? startPostgres({ isCareless: true }) : Promise.resolve(databasesOf(JSON.parse(given) as Ways));
  return shared;
}
