import { type ChildProcess, spawn } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Client } from 'pg';
import { freePort } from '../test/fixtures/postgres-server.ts';
import type { DatabaseServer } from './database-server.ts';
import { median, type PeerComparison, type PeerFigure } from './figures.ts';
import { cpuOf } from './processes.ts';
import { PEER_ADD, type Request, requestNamed } from './requests.ts';
import { NO_SECRETS, type Round, type Target, Testbed } from './testbed.ts';

/** Adds of one card to the service and to hyperswitch-card-vault, in turns. `bench/peer.md` says how the peer is built. */
export interface PeerSettings {
  /** The checkout of the peer, with its release build. */
  readonly directory: string;
  readonly rounds: number;
  readonly seconds: number;
}

const CONNECTIONS = 64;
const POOL = '30';
const POLL_MS = 100;
const PATIENCE_MS = 60_000;
const TENANT = 'public';

/** Creates its database and applies its migrations in the order of their names. */
async function createDatabase(server: DatabaseServer, directory: string): Promise<URL> {
  const admin = new Client({ connectionString: server.superuser });
  await admin.connect();
  await admin.query('create database locker');
  await admin.end();
  const address = new URL(server.superuser);
  address.pathname = '/locker';
  const client = new Client({ connectionString: address.href });
  await client.connect();
  for (const file of globSync('migrations/*/up.sql', { cwd: directory }).sort())
    await client.query(readFileSync(join(directory, file), 'utf8'));
  await client.end();
  return address;
}

const isHealthy = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const headers = { [PEER_ADD.keyHeader ?? '']: TENANT };
    const options = { host: '127.0.0.1', port, path: '/health', headers, rejectUnauthorized: false, agent: false };
    const outgoing = request(options, (incoming) => {
      incoming.resume();
      resolve(incoming.statusCode === 200);
    });
    outgoing.on('error', () => resolve(false));
    outgoing.end();
  });

/** Starts the peer with the same certificate as the service. Its log has errors only, and goes nowhere. */
async function startPeer(
  directory: string,
  server: DatabaseServer,
  folder: string,
  pem: string,
): Promise<[Target, ChildProcess]> {
  const address = await createDatabase(server, directory);
  const port = await freePort();
  const files = { certificate: join(folder, 'peer.crt'), key: join(folder, 'peer.key') };
  writeFileSync(
    files.certificate,
    /-----BEGIN CERTIFICATE-----[\s\S]*-----END CERTIFICATE-----\n?/.exec(pem)?.[0] ?? '',
  );
  writeFileSync(files.key, /-----BEGIN PRIVATE KEY-----[\s\S]*-----END PRIVATE KEY-----\n?/.exec(pem)?.[0] ?? '', {
    mode: 0o600,
  });
  const env = {
    ...process.env,
    LOCKER__SERVER__HOST: '127.0.0.1',
    LOCKER__SERVER__PORT: String(port),
    LOCKER__DATABASE__USERNAME: address.username,
    LOCKER__DATABASE__PASSWORD: address.password,
    LOCKER__DATABASE__HOST: address.hostname,
    LOCKER__DATABASE__PORT: address.port,
    LOCKER__DATABASE__DBNAME: 'locker',
    LOCKER__DATABASE__POOL_SIZE: POOL,
    LOCKER__LOG__CONSOLE__ENABLED: 'true',
    LOCKER__LOG__CONSOLE__LOG_FORMAT: 'default',
    LOCKER__LOG__CONSOLE__LEVEL: 'ERROR',
    LOCKER__TLS__CERTIFICATE: files.certificate,
    LOCKER__TLS__PRIVATE_KEY: files.key,
  };
  const child = spawn(join(directory, 'target', 'release', 'locker'), [], { cwd: directory, env, stdio: 'ignore' });
  const start = performance.now();
  while (!(await isHealthy(port))) {
    if (child.exitCode !== null || performance.now() - start > PATIENCE_MS) {
      child.kill();
      throw new Error('the peer did not start');
    }
    await wait(POLL_MS);
  }
  const cpu = (): number => cpuOf(child.pid ?? 0);
  const secrets = { ...NO_SECRETS, usual: TENANT };
  return [{ name: 'hyperswitch-card-vault', port, secrets, cpu, databaseCpu: () => server.cpu }, child];
}

async function measureSides(
  testbed: Testbed,
  sides: readonly { target: Target; request: Request }[],
  settings: PeerSettings,
) {
  const { rounds, seconds } = settings;
  const measured = sides.map((side) => ({ ...side, rounds: [] as Round[] }));
  await testbed.connect(
    sides.map(({ target }) => target),
    CONNECTIONS,
  );
  for (const { target, request } of sides) await testbed.run(target, request, { seconds });
  for (let round = 0; round < rounds; round++)
    for (let turn = 0; turn < measured.length; turn++) {
      const side = measured[(turn + round) % measured.length];
      if (side !== undefined) side.rounds.push(await testbed.run(side.target, side.request, { seconds }));
    }
  const peer = measured.at(-1)?.rounds ?? [];
  return measured.map(({ target, rounds: own }): PeerFigure => {
    const of = (value: (round: Round) => number): number => median(own.map(value));
    const total = ({ cpu, databaseCpu }: Round): number => cpu + databaseCpu;
    return {
      ...{ name: target.name, perSecond: of(({ perSecond }) => perSecond), p50: of(({ p50 }) => p50) },
      ...{ p99: of(({ p99 }) => p99), cpu: of(({ cpu }) => cpu), databaseCpu: of(({ databaseCpu }) => databaseCpu) },
      perCpuSecond: median(own.map((round, index) => total(peer[index] as Round) / total(round))),
    };
  });
}

export async function measurePeer(settings: PeerSettings, print: (line: string) => void): Promise<PeerComparison> {
  const testbed = new Testbed();
  let child: ChildProcess | undefined;
  try {
    const [ours, theirs] = [await testbed.startDatabase(), await testbed.startDatabase()];
    if (ours === undefined || theirs === undefined) throw new Error('there is no PostgreSQL on this machine');
    const { target: sqlite, service } = await testbed.startService('cardvault, SQLite');
    const at = { address: await ours.newDatabase('vault'), server: ours };
    const { target: postgres } = await testbed.startService('cardvault, PostgreSQL', at);
    print('starting the peer');
    const [peer, started] = await startPeer(settings.directory, theirs, testbed.directory, service.pem);
    child = started;
    print('measuring');
    const request = requestNamed('tokenize 1 card, scheme 7');
    const sides = [sqlite, postgres].map((target) => ({ target, request }));
    const figures = await measureSides(testbed, [...sides, { target: peer, request: PEER_ADD }], settings);
    return { rounds: settings.rounds, seconds: settings.seconds, postgres: ours.release, figures };
  } finally {
    child?.kill();
    await testbed.stop();
  }
}
