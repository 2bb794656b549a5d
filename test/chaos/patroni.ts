import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Client } from 'pg';
import { installPostgres } from '../fixtures/postgres-binaries.ts';
import { freePort, Home, killServerOn } from '../fixtures/postgres-server.ts';
import { type DatabaseCluster, newPassword, queryRows, type Row, SETTINGS } from './cluster.ts';
import { GuardedProgram, untilListening } from './guarded.ts';

const DATABASE = 'vault';
const WITHIN_MS = 240_000;
const POLL_INTERVAL_MS = 200;
const CONNECTS_WITHIN_MS = 2000;
/** The least that Patroni accepts: it has noticed a dead primary after this number of seconds. */
const TTL_SECONDS = 20;

interface Member {
  readonly name: string;
  readonly port: number;
  readonly restPort: number;
  readonly data: string;
  readonly manager: GuardedProgram;
}

/** Two PostgreSQL servers under Patroni with etcd, which decides which of them is the primary; synchronous mode. */
export class PatroniCluster implements DatabaseCluster {
  readonly release: string;
  readonly ports: readonly number[];
  readonly #home: Home;
  readonly #etcd: GuardedProgram;
  readonly #members: readonly Member[];
  readonly #passwords: Passwords;
  #primary = 0;

  private constructor(parts: {
    home: Home;
    release: string;
    etcd: GuardedProgram;
    members: Member[];
    passwords: Passwords;
  }) {
    this.#home = parts.home;
    this.release = `${parts.release} under Patroni`;
    this.#etcd = parts.etcd;
    this.#members = parts.members;
    this.#passwords = parts.passwords;
    this.ports = parts.members.map(({ port }) => port);
  }

  static async start(): Promise<PatroniCluster> {
    const binaries = installPostgres();
    if ('why' in binaries) throw new Error(binaries.why);
    const home = new Home();
    const passwords = { postgres: newPassword(), cardvault: newPassword() };
    const [etcdPort, peerPort] = [await freePort(), await freePort()];
    const etcd = new GuardedProgram(home, join(home.directory, 'etcd.log'), etcdCommand(home, etcdPort, peerPort));
    try {
      etcd.start();
      await untilListening(etcdPort, 'etcd');
      const members: Member[] = [];
      for (const name of ['one', 'two'])
        members.push(await newMember({ home, bin: home.reachable(binaries.bin), etcdPort, passwords, name }));
      const cluster = new PatroniCluster({ home, release: binaries.release, etcd, members, passwords });
      await cluster.#begin();
      return cluster;
    } catch (error) {
      await etcd.kill();
      await home.remove();
      throw error;
    }
  }

  address(ports: readonly number[]): string {
    const hosts = ports.map((port) => `127.0.0.1:${port}`).join(',');
    return `postgres://cardvault:${this.#passwords.cardvault}@${hosts}/${DATABASE}`;
  }

  query(sql: string): Promise<Row[]> {
    return this.#query(this.#at(this.#primary), sql, DATABASE);
  }

  /** Kills the primary and its manager, as a loss of power does. */
  async killPrimary(): Promise<void> {
    const { manager, data } = this.#at(this.#primary);
    await manager.kill();
    await killServerOn(data);
  }

  /** Kills the manager alone: its server continues, and is not told that another one has taken its place. */
  killManager(): Promise<void> {
    return this.#at(this.#primary).manager.kill();
  }

  /** Waits until Patroni has promoted the other server. */
  async promote(): Promise<void> {
    await this.#untilPrimary(1 - this.#primary);
    this.#primary = 1 - this.#primary;
  }

  /** Asks Patroni for a planned change of the primary, and waits for it. */
  async switchOver(): Promise<void> {
    const { restPort, name } = this.#at(this.#primary);
    // Patroni learns in its next round that the standby is synchronous.
    await until('Patroni refused the switchover', async () => {
      const response = await fetch(`http://127.0.0.1:${restPort}/switchover`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ leader: name, candidate: this.#at(1 - this.#primary).name }),
      });
      if (response.ok) return true;
      throw new Error(await response.text());
    });
    await this.promote();
  }

  /** Patroni takes the server that it starts back as the standby. */
  async addStandby(): Promise<void> {
    const standby = this.#at(1 - this.#primary);
    if (!standby.manager.isRunning) {
      await killServerOn(standby.data);
      standby.manager.start();
    }
    const sql = `select 1 from pg_stat_replication where application_name = '${standby.name}' and sync_state = 'sync'`;
    await until('the standby does not keep up', async () => (await this.query(sql)).length > 0);
  }

  fillDisk(): void {
    throw new Error('the servers under Patroni have no disks of their own');
  }

  freeDisk(): void {
    this.fillDisk();
  }

  async stop(): Promise<void> {
    for (const { manager } of this.#members) await manager.kill();
    for (const { data } of this.#members) await killServerOn(data);
    await this.#etcd.kill();
    await this.#home.remove();
  }

  #at(index: number): Member {
    return this.#members[index] as Member;
  }

  async #begin(): Promise<void> {
    this.#at(0).manager.start();
    await this.#untilPrimary(0);
    const primary = this.#at(0);
    await this.#query(primary, `create role cardvault login password '${this.#passwords.cardvault}'`, 'postgres');
    await this.#query(primary, `create database ${DATABASE} owner cardvault`, 'postgres');
    await this.addStandby();
  }

  #untilPrimary(index: number): Promise<void> {
    const sql = 'select not pg_is_in_recovery() as writes';
    return until('Patroni promoted no server', async () => {
      const [row] = await this.#query(this.#at(index), sql, 'postgres');
      return row?.['writes'] === true;
    });
  }

  async #query({ port }: Member, sql: string, database: string): Promise<Row[]> {
    const connectionString = `postgres://postgres:${this.#passwords.postgres}@127.0.0.1:${port}/${database}`;
    const client = new Client({ connectionString, connectionTimeoutMillis: CONNECTS_WITHIN_MS });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return await queryRows(client, sql);
    } finally {
      await client.end();
    }
  }
}

interface Passwords {
  readonly postgres: string;
  readonly cardvault: string;
}

/** Repeats until it is true; a server that is down is none of the failures. */
async function until(failure: string, isTrue: () => Promise<boolean>): Promise<void> {
  let last: unknown;
  for (const end = Date.now() + WITHIN_MS; Date.now() < end; await wait(POLL_INTERVAL_MS)) {
    try {
      if (await isTrue()) return;
    } catch (error) {
      last = error;
    }
  }
  throw new Error(failure, { cause: last });
}

const etcdCommand = (home: Home, port: number, peerPort: number): string[] => {
  const client = `http://127.0.0.1:${port}`;
  const peer = `http://127.0.0.1:${peerPort}`;
  const urls = ['--listen-client-urls', client, '--advertise-client-urls', client, '--listen-peer-urls', peer];
  const cluster = ['--initial-advertise-peer-urls', peer, '--initial-cluster', `default=${peer}`];
  return ['etcd', '--data-dir', join(home.directory, 'etcd'), ...urls, ...cluster];
};

async function newMember({
  home,
  bin,
  etcdPort,
  passwords,
  name,
}: {
  home: Home;
  bin: string;
  etcdPort: number;
  passwords: Passwords;
  name: string;
}): Promise<Member> {
  const [port, restPort] = [await freePort(), await freePort()];
  const data = join(home.directory, name);
  mkdirSync(data, { mode: 0o700 });
  home.give(data);
  const superuser = { username: 'postgres', password: passwords.postgres };
  const rules = ['all postgres', 'replication postgres', `${DATABASE} cardvault`];
  const settings = {
    scope: 'cardvault',
    name,
    restapi: { listen: `127.0.0.1:${restPort}`, connect_address: `127.0.0.1:${restPort}` },
    etcd3: { host: `127.0.0.1:${etcdPort}` },
    bootstrap: {
      dcs: {
        ttl: TTL_SECONDS,
        loop_wait: 2,
        retry_timeout: 5,
        synchronous_mode: true,
        postgresql: { use_pg_rewind: true, parameters: { wal_log_hints: 'on' } },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C' }],
    },
    postgresql: {
      listen: `127.0.0.1:${port}`,
      connect_address: `127.0.0.1:${port}`,
      data_dir: data,
      bin_dir: bin,
      basebackup: [{ checkpoint: 'fast' }],
      pgpass: join(home.directory, `${name}.pgpass`),
      authentication: { superuser, replication: superuser, rewind: superuser },
      pg_hba: rules.map((rule) => `host ${rule} 127.0.0.1/32 scram-sha-256`),
      parameters: {
        ...SETTINGS,
        listen_addresses: undefined,
        synchronous_commit: undefined,
        password_encryption: 'scram-sha-256',
        dynamic_shared_memory_type: 'mmap',
        unix_socket_directories: home.directory,
      },
    },
  };
  const file = join(home.directory, `${name}.yml`);
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(settings), { mode: 0o600 });
  home.give(file);
  return {
    name,
    port,
    restPort,
    data,
    manager: new GuardedProgram(home, join(home.directory, `${name}-patroni.log`), ['patroni', file]),
  };
}
