import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Client } from 'pg';
import { installPostgres } from '../fixtures/postgres-binaries.ts';
import { freePort, Home, Server } from '../fixtures/postgres-server.ts';
import { fill, free, mountDisk, unmountDisk } from './disk.ts';

const DATABASE = 'vault';
const WITHIN_MS = 60_000;
const POLL_INTERVAL_MS = 50;

/** Rows as texts and numbers. */
export type Row = Readonly<Record<string, unknown>>;

interface Member {
  readonly name: string;
  readonly port: number;
  readonly data: string;
  /** The write-ahead log has a separate disk. */
  readonly log: string;
  readonly server: Server;
}

export interface ClusterOptions {
  /** Megabytes of a separate disk for each server's data; undefined: no separate disks. */
  readonly diskMegabytes: number | undefined;
}

/** Two servers of one database, and who decides which of them accepts writes. */
export interface DatabaseCluster {
  /** Such as `15.18`. */
  readonly release: string;
  readonly ports: readonly number[];
  address(ports: readonly number[]): string;
  query(sql: string): Promise<Row[]>;
  killPrimary(): Promise<void>;
  /** Resolves when the standby accepts writes. */
  promote(): Promise<void>;
  /** Resolves when the server that is not the primary is its synchronous standby again. */
  addStandby(): Promise<void>;
  fillDisk(): void;
  freeDisk(): void;
  stop(): Promise<void>;
}

/** Two PostgreSQL servers: the primary acknowledges a commit when the standby has it on disk as well. */
export class Cluster implements DatabaseCluster {
  readonly release: string;
  readonly ports: readonly number[];
  readonly #home: Home;
  readonly #bin: string;
  readonly #members: readonly Member[];
  readonly #disks: readonly string[];
  readonly #passwords = { postgres: newPassword(), cardvault: newPassword() };
  #primary = 0;

  private constructor(parts: { home: Home; bin: string; release: string; members: Member[]; disks: string[] }) {
    this.#home = parts.home;
    this.#bin = parts.bin;
    this.release = parts.release;
    this.#members = parts.members;
    this.#disks = parts.disks;
    this.ports = parts.members.map(({ port }) => port);
  }

  static async start({ diskMegabytes }: ClusterOptions): Promise<Cluster> {
    const binaries = installPostgres();
    if ('why' in binaries) throw new Error(binaries.why);
    const home = new Home();
    const disks: string[] = [];
    try {
      const bin = home.reachable(binaries.bin);
      const members: Member[] = [];
      for (const name of ['one', 'two']) {
        const data = join(home.directory, name);
        if (diskMegabytes !== undefined) {
          mountDisk(home.user, data, diskMegabytes);
          disks.push(data);
        }
        const port = await freePort();
        const settings = { ...SETTINGS, port: String(port), unix_socket_directories: home.directory };
        const server = new Server(home, bin, data, settings);
        members.push({ name, port, data, log: join(home.directory, `${name}-log`), server });
      }
      const cluster = new Cluster({ home, bin, release: binaries.release, members, disks });
      await cluster.#begin();
      return cluster;
    } catch (error) {
      for (const disk of disks) unmountDisk(disk);
      await home.remove();
      throw error;
    }
  }

  /** Returns the database address of a node, by the ports at which it reaches the two servers. */
  address(ports: readonly number[]): string {
    const hosts = ports.map((port) => `127.0.0.1:${port}`).join(',');
    return `postgres://cardvault:${this.#passwords.cardvault}@${hosts}/${DATABASE}`;
  }

  /** Runs as the superuser, on the server that accepts writes. */
  query(sql: string): Promise<Row[]> {
    return this.#query(this.#at(this.#primary), sql, DATABASE);
  }

  /** Kills the primary, as a loss of power does. */
  killPrimary(): Promise<void> {
    return this.#at(this.#primary).server.kill();
  }

  /** Promotes the standby, which then waits for no other. */
  async promote(): Promise<void> {
    const next = this.#at(1 - this.#primary);
    await this.#query(next, 'select pg_promote(true, 30)', 'postgres');
    this.#primary = 1 - this.#primary;
  }

  /** Starts the server that is not the primary again as its standby; resolves when commits wait for it. */
  async addStandby(): Promise<void> {
    const primary = this.#at(this.#primary);
    const standby = this.#at(1 - this.#primary);
    await standby.server.kill();
    for (const folder of [standby.data, standby.log]) empty(folder);
    const from = this.#login(primary, 'postgres');
    const copied = ['-d', from, '-D', standby.data, '--waldir', standby.log, '-X', 'stream', '-c', 'fast', '--no-sync'];
    const program = join(this.#bin, 'pg_basebackup');
    if (existsSync(program)) await runBeside(this.#home, program, copied);
    else await this.#copyBase(primary, standby);
    this.#configure(standby, { primary_conninfo: `${from}?application_name=${standby.name}` });
    this.#write(join(standby.data, 'standby.signal'), '');
    await standby.server.start();
    await this.#waitForCommits(primary, standby);
  }

  /** Makes a base backup by the functions of the server: packages of the server alone have no pg_basebackup. */
  async #copyBase(primary: Member, standby: Member): Promise<void> {
    const client = new Client({ connectionString: this.#login(primary, 'postgres') });
    await client.connect();
    try {
      const isOld = Number.parseInt(this.release, 10) < 15;
      await client.query(
        isOld ? `select pg_start_backup('base', true, false)` : `select pg_backup_start('base', true)`,
      );
      // Files come and go while they are copied; what is missing in the end keeps the standby from starting.
      const copy = 'cp -a "$1"/. "$2"; cd "$2" && rm -rf pg_wal postmaster.pid postmaster.opts pg_replslot/*; true';
      await runBeside(this.#home, '/bin/sh', ['-c', copy, 'copy', primary.data, standby.data]);
      const stop = isOld ? 'pg_stop_backup(false, false)' : 'pg_backup_stop(false)';
      const { rows } = await client.query(`select labelfile from ${stop}`);
      this.#write(join(standby.data, 'backup_label'), String(rows[0]?.labelfile));
      await runBeside(this.#home, '/bin/sh', ['-c', 'cp -a "$1"/. "$2"', 'copy', primary.log, standby.log]);
      symlinkSync(standby.log, join(standby.data, 'pg_wal'));
    } finally {
      await client.end();
    }
  }

  /** Copies the primary's data. */
  fillDisk(): void {
    fill(this.#at(this.#primary).data);
  }

  freeDisk(): void {
    free(this.#at(this.#primary).data);
  }

  async stop(): Promise<void> {
    for (const { server } of this.#members) await server.kill();
    for (const disk of this.#disks) unmountDisk(disk);
    await this.#home.remove();
  }

  #at(index: number): Member {
    return this.#members[index] as Member;
  }

  async #begin(): Promise<void> {
    const primary = this.#at(0);
    const passwordFile = join(this.#home.directory, 'password');
    this.#write(passwordFile, this.#passwords.postgres);
    const login = ['-U', 'postgres', '-A', 'scram-sha-256', '--pwfile', passwordFile];
    const args = ['-D', primary.data, '--waldir', primary.log, '-E', 'UTF8', '--locale=C', '--no-sync'];
    for (const { data, log } of this.#members) for (const folder of [data, log]) this.#folder(folder);
    this.#home.run(join(this.#bin, 'initdb'), [...args, ...login]);
    const rules = ['all postgres', 'replication postgres', `${DATABASE} cardvault`];
    const lines = rules.map((rule) => `host ${rule} 127.0.0.1/32 scram-sha-256\n`);
    this.#write(join(primary.data, 'pg_hba.conf'), lines.join(''));
    this.#configure(primary, {});
    await primary.server.start();
    await this.#query(primary, `create role cardvault login password '${this.#passwords.cardvault}'`, 'postgres');
    await this.#query(primary, `create database ${DATABASE} owner cardvault`, 'postgres');
    await this.addStandby();
  }

  /** From now on a commit waits for this standby. */
  async #waitForCommits(primary: Member, standby: Member): Promise<void> {
    this.#configure(primary, { synchronous_standby_names: standby.name });
    await this.#query(primary, 'select pg_reload_conf()', 'postgres');
    const sql = `select 1 from pg_stat_replication where application_name = '${standby.name}' and sync_state = 'sync'`;
    for (const until = Date.now() + WITHIN_MS; Date.now() < until; await wait(POLL_INTERVAL_MS))
      if ((await this.#query(primary, sql, 'postgres')).length > 0) return;
    throw new Error('the standby does not keep up');
  }

  /** Settings that change with the role of a server. All others are on its command line. */
  #configure({ data }: Member, settings: Readonly<Record<string, string>>): void {
    const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`);
    this.#write(join(data, 'postgresql.auto.conf'), lines.join(''));
  }

  #folder(path: string): void {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    this.#home.give(path);
  }

  #write(path: string, text: string): void {
    writeFileSync(path, text, { mode: 0o600 });
    this.#home.give(path);
  }

  #login({ port }: Member, database: string): string {
    return `postgres://postgres:${this.#passwords.postgres}@127.0.0.1:${port}/${database}`;
  }

  async #query(member: Member, sql: string, database: string): Promise<Row[]> {
    const client = new Client({ connectionString: this.#login(member, database) });
    await client.connect();
    try {
      return await queryRows(client, sql);
    } finally {
      await client.end();
    }
  }
}

/** Integers of 64 bits, for which pg returns texts, are numbers here. */
export async function queryRows(client: Client, sql: string): Promise<Row[]> {
  const { rows, fields } = await client.query(sql);
  const wide = fields.filter(({ dataTypeID }) => dataTypeID === 20).map(({ name }) => name);
  for (const row of rows) for (const name of wide) if (row[name] !== null) row[name] = Number(row[name]);
  return rows;
}

/** On the command line of every server. */
export const SETTINGS = {
  listen_addresses: '127.0.0.1',
  shared_buffers: '64MB',
  max_connections: '100',
  max_wal_size: '256MB',
  wal_level: 'replica',
  wal_keep_size: '128MB',
  hot_standby: 'on',
  synchronous_commit: 'on',
  fsync: 'on',
};

/** Runs a program as the servers' user, without blocking the event loop. */
async function runBeside(home: Home, program: string, args: readonly string[]): Promise<void> {
  const child = spawn(program, args, { ...home.options(), stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${basename(program)}: ${output}`);
}

export const newPassword = (): string => randomBytes(16).toString('hex');

const empty = (folder: string): void => {
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
};
