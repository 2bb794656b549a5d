import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, Home, killServerOn } from '../fixtures/postgres-server.ts';
import {
  ACCESS_RULES,
  type DatabaseCluster,
  neededPostgres,
  SETTINGS,
  ServerPair,
  startOrStop,
  until,
} from './database-cluster.ts';
import { GuardedProgram, untilListening } from './guarded.ts';

/** The least that Patroni accepts: it has noticed a dead primary after this number of seconds. */
const TTL_SECONDS = 20;

interface Member {
  readonly name: string;
  readonly port: number;
  readonly restPort: number;
  readonly data: string;
  /** The settings of its manager. */
  readonly file: string;
  readonly manager: GuardedProgram;
}

/** Two PostgreSQL servers under Patroni with etcd, which decides which of them is the primary; synchronous mode. */
export class PatroniCluster implements DatabaseCluster {
  readonly release: string;
  readonly servers: ServerPair<Member>;
  readonly #home: Home;
  readonly #bin: string;
  readonly #etcdPort: number;
  readonly #etcd: GuardedProgram;

  private constructor(parts: {
    home: Home;
    bin: string;
    release: string;
    etcdPort: number;
    etcd: GuardedProgram;
    servers: ServerPair<Member>;
  }) {
    this.#home = parts.home;
    this.#bin = parts.bin;
    this.release = `${parts.release} under Patroni`;
    this.#etcdPort = parts.etcdPort;
    this.#etcd = parts.etcd;
    this.servers = parts.servers;
  }

  static async start(): Promise<PatroniCluster> {
    const { bin, release } = neededPostgres();
    const home = new Home();
    const [etcdPort, peerPort] = [await freePort(), await freePort()];
    const etcd = new GuardedProgram(home, join(home.directory, 'etcd.log'), etcdCommand(home, etcdPort, peerPort));
    const servers = new ServerPair(await newMember(home, 'one'), await newMember(home, 'two'));
    const cluster = new PatroniCluster({ home, bin: home.reachable(bin), release, etcdPort, etcd, servers });
    return startOrStop(cluster, () => cluster.#begin());
  }

  /** Kills its manager as well. */
  async killPrimary(): Promise<void> {
    const { manager, data } = this.servers.primary;
    await manager.kill();
    await killServerOn(data);
  }

  /** Kills the manager alone: its server continues, and is not told that another one has taken its place. */
  killManager(): Promise<void> {
    return this.servers.primary.manager.kill();
  }

  /** Waits until Patroni has promoted the other server. */
  promote(): Promise<void> {
    return this.servers.untilPromoted();
  }

  /** Asks Patroni for a planned change of the primary, and waits for it. */
  async switchOver(): Promise<void> {
    const { primary, standby } = this.servers;
    // Patroni learns in its next round that the standby is synchronous.
    await until('Patroni refused the switchover', async () => {
      const response = await fetch(`http://127.0.0.1:${primary.restPort}/switchover`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ leader: primary.name, candidate: standby.name }),
      });
      if (response.ok) return true;
      throw new Error(await response.text());
    });
    await this.promote();
  }

  /** Patroni takes the server that it starts back as the standby. */
  async addStandby(): Promise<void> {
    const { standby } = this.servers;
    if (!standby.manager.isRunning) {
      await killServerOn(standby.data);
      standby.manager.start();
    }
    await this.servers.untilSynchronous();
  }

  fillDisk(): void {
    throw new Error('the servers under Patroni have no disks of their own');
  }

  freeDisk(): void {
    this.fillDisk();
  }

  async stop(): Promise<void> {
    for (const { manager } of this.servers.all) await manager.kill();
    for (const { data } of this.servers.all) await killServerOn(data);
    await this.#etcd.kill();
    await this.#home.remove();
  }

  async #begin(): Promise<void> {
    this.#etcd.start();
    await untilListening(this.#etcdPort, 'etcd');
    for (const member of this.servers.all) {
      mkdirSync(member.data, { mode: 0o700 });
      this.#home.give(member.data);
      // JSON is YAML.
      writeFileSync(member.file, JSON.stringify(this.#settingsOf(member)), { mode: 0o600 });
      this.#home.give(member.file);
    }
    const { primary } = this.servers;
    primary.manager.start();
    await this.servers.untilWritable(primary);
    await this.servers.createDatabase();
    await this.addStandby();
  }

  #settingsOf({ name, port, restPort, data }: Member): object {
    const { superuser } = this.servers;
    return {
      scope: 'cardvault',
      name,
      restapi: { listen: `127.0.0.1:${restPort}`, connect_address: `127.0.0.1:${restPort}` },
      etcd3: { host: `127.0.0.1:${this.#etcdPort}` },
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
        bin_dir: this.#bin,
        basebackup: [{ checkpoint: 'fast' }],
        pgpass: join(this.#home.directory, `${name}.pgpass`),
        authentication: { superuser, replication: superuser, rewind: superuser },
        pg_hba: ACCESS_RULES,
        parameters: {
          ...SETTINGS,
          listen_addresses: undefined,
          synchronous_commit: undefined,
          password_encryption: 'scram-sha-256',
          dynamic_shared_memory_type: 'mmap',
          unix_socket_directories: this.#home.directory,
        },
      },
    };
  }
}

const etcdCommand = (home: Home, port: number, peerPort: number): string[] => {
  const client = `http://127.0.0.1:${port}`;
  const peer = `http://127.0.0.1:${peerPort}`;
  const urls = ['--listen-client-urls', client, '--advertise-client-urls', client, '--listen-peer-urls', peer];
  const cluster = ['--initial-advertise-peer-urls', peer, '--initial-cluster', `default=${peer}`];
  return ['etcd', '--data-dir', join(home.directory, 'etcd'), ...urls, ...cluster];
};

async function newMember(home: Home, name: string): Promise<Member> {
  const [port, restPort] = [await freePort(), await freePort()];
  const [file, log] = [`${name}.yml`, `${name}-patroni.log`].map((each) => join(home.directory, each));
  const manager = new GuardedProgram(home, log as string, ['patroni', file as string]);
  return { name, port, restPort, data: join(home.directory, name), file: file as string, manager };
}
