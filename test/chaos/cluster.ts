import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { freePort, Home, Server } from '../fixtures/postgres-server.ts';
import {
  ACCESS_RULES,
  type DatabaseCluster,
  neededPostgres,
  SETTINGS,
  ServerPair,
  startOrStop,
} from './database-cluster.ts';
import { fill, free, mountDisk, unmountDisk } from './disk.ts';

export interface Member {
  readonly name: string;
  readonly port: number;
  readonly data: string;
  /** The write-ahead log has a separate disk. */
  readonly log: string;
  readonly server: Server;
}

interface ClusterOptions {
  /** Megabytes of a separate disk for each server's data; undefined: no separate disks. */
  readonly diskMegabytes: number | undefined;
  /** More settings of both servers. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** Two PostgreSQL servers: the primary acknowledges a commit when the standby has it on disk as well. */
export class Cluster implements DatabaseCluster {
  readonly release: string;
  readonly servers: ServerPair<Member>;
  /** Holds the servers' data, and files of what runs beside them. */
  readonly home: Home;
  /** The folder of PostgreSQL's programs. */
  readonly bin: string;
  readonly #disks: string[] = [];

  private constructor(parts: { home: Home; bin: string; release: string; servers: ServerPair<Member> }) {
    this.home = parts.home;
    this.bin = parts.bin;
    this.release = parts.release;
    this.servers = parts.servers;
  }

  static async start({ diskMegabytes, settings = {} }: ClusterOptions): Promise<Cluster> {
    const binaries = neededPostgres();
    const home = new Home();
    const bin = home.reachable(binaries.bin);
    const newMember = async (name: string): Promise<Member> => {
      const data = join(home.directory, name);
      const port = await freePort();
      const own = { port: String(port), unix_socket_directories: home.directory };
      const server = new Server(home, bin, data, { ...SETTINGS, ...settings, ...own });
      return { name, port, data, log: join(home.directory, `${name}-log`), server };
    };
    const servers = new ServerPair(await newMember('one'), await newMember('two'));
    const cluster = new Cluster({ home, bin, release: binaries.release, servers });
    return startOrStop(cluster, () => cluster.#begin(diskMegabytes));
  }

  killPrimary(): Promise<void> {
    return this.servers.primary.server.kill();
  }

  /** Promotes the standby, which then waits for no other. */
  async promote(): Promise<void> {
    await this.servers.queryOn(this.servers.standby, 'select pg_promote(true, 30)');
    await this.servers.untilPromoted();
  }

  /** Starts the server that is not the primary again as its standby; resolves when commits wait for it. */
  async addStandby(): Promise<void> {
    const { primary, standby } = this.servers;
    await standby.server.kill();
    for (const folder of [standby.data, standby.log]) empty(folder);
    const from = this.servers.superuserAddress(primary);
    const copied = ['-d', from, '-D', standby.data, '--waldir', standby.log, '-X', 'stream', '-c', 'fast', '--no-sync'];
    const program = join(this.bin, 'pg_basebackup');
    if (existsSync(program)) await this.home.runAside(program, copied);
    else await this.#copyBase(primary, standby);
    this.#configure(standby, { primary_conninfo: `${from}?application_name=${standby.name}` });
    this.#write(join(standby.data, 'standby.signal'), '');
    await standby.server.start();
    this.#configure(primary, { synchronous_standby_names: standby.name });
    await this.servers.queryOn(primary, 'select pg_reload_conf()');
    await this.servers.untilSynchronous();
  }

  /** Makes a base backup by the functions of the server: packages of the server alone have no pg_basebackup. */
  async #copyBase(primary: Member, standby: Member): Promise<void> {
    const client = new Client({ connectionString: this.servers.superuserAddress(primary) });
    await client.connect();
    try {
      const isOld = Number.parseInt(this.release, 10) < 15;
      await client.query(
        isOld ? `select pg_start_backup('base', true, false)` : `select pg_backup_start('base', true)`,
      );
      // Files come and go while they are copied; what is missing in the end keeps the standby from starting.
      const copy = 'cp -a "$1"/. "$2"; cd "$2" && rm -rf pg_wal postmaster.pid postmaster.opts pg_replslot/*; true';
      await this.home.runAside('/bin/sh', ['-c', copy, 'copy', primary.data, standby.data]);
      const stop = isOld ? 'pg_stop_backup(false, false)' : 'pg_backup_stop(false)';
      const { rows } = await client.query(`select labelfile from ${stop}`);
      this.#write(join(standby.data, 'backup_label'), String(rows[0]?.labelfile));
      await this.home.runAside('/bin/sh', ['-c', 'cp -a "$1"/. "$2"; true', 'copy', primary.log, standby.log]);
      symlinkSync(standby.log, join(standby.data, 'pg_wal'));
    } finally {
      await client.end();
    }
  }

  /** Copies the primary's data. */
  fillDisk(): void {
    fill(this.servers.primary.data);
  }

  freeDisk(): void {
    free(this.servers.primary.data);
  }

  async stop(): Promise<void> {
    for (const { server } of this.servers.all) await server.kill();
    for (const disk of this.#disks) unmountDisk(disk);
    await this.home.remove();
  }

  async #begin(diskMegabytes: number | undefined): Promise<void> {
    const { all, primary, superuser } = this.servers;
    for (const { data, log } of all) {
      if (diskMegabytes !== undefined) {
        mountDisk(this.home.user, data, diskMegabytes);
        this.#disks.push(data);
      }
      for (const folder of [data, log]) this.#folder(folder);
    }
    const passwordFile = join(this.home.directory, 'password');
    this.#write(passwordFile, superuser.password);
    const login = ['-U', superuser.username, '-A', 'scram-sha-256', '--pwfile', passwordFile];
    const args = ['-D', primary.data, '--waldir', primary.log, '-E', 'UTF8', '--locale=C', '--no-sync'];
    this.home.run(join(this.bin, 'initdb'), [...args, ...login]);
    this.#write(join(primary.data, 'pg_hba.conf'), ACCESS_RULES.map((rule) => `${rule}\n`).join(''));
    this.#configure(primary, {});
    await primary.server.start();
    await this.servers.createDatabase();
    await this.addStandby();
  }

  /** Settings that change with the role of a server. All others are on its command line. */
  #configure({ data }: Member, settings: Readonly<Record<string, string>>): void {
    const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`);
    this.#write(join(data, 'postgresql.auto.conf'), lines.join(''));
  }

  #folder(path: string): void {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    this.home.give(path);
  }

  #write(path: string, text: string): void {
    writeFileSync(path, text, { mode: 0o600 });
    this.home.give(path);
  }
}

const empty = (folder: string): void => {
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
};
