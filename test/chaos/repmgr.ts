import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Cluster, type Member } from './cluster.ts';
import { type DatabaseCluster, type ServerPair, startOrStop } from './database-cluster.ts';
import { GuardedProgram } from './guarded.ts';

/** The daemon promotes the standby after this number of vain connections to the primary, a second apart. */
const RECONNECTS = 3;

/** Two PostgreSQL servers with repmgr's daemon beside each: that of the standby promotes it when the primary is gone. */
export class RepmgrCluster implements DatabaseCluster {
  readonly release: string;
  readonly servers: ServerPair<Member>;
  readonly #cluster: Cluster;
  readonly #program: string;
  readonly #daemons: ReadonlyMap<Member, GuardedProgram>;

  private constructor(cluster: Cluster) {
    this.#cluster = cluster;
    this.release = `${cluster.release} under repmgr`;
    this.servers = cluster.servers;
    this.#program = join(cluster.bin, 'repmgr');
    const daemonOf = (member: Member): GuardedProgram => {
      const log = join(cluster.home.directory, `${member.name}-repmgrd.log`);
      const command = [join(cluster.bin, 'repmgrd'), '-f', this.#file(member), '--daemonize=false', '--no-pid-file'];
      return new GuardedProgram(cluster.home, log, command);
    };
    this.#daemons = new Map(cluster.servers.all.map((member) => [member, daemonOf(member)]));
  }

  static async start(): Promise<RepmgrCluster> {
    const settings = { shared_preload_libraries: 'repmgr' };
    const cluster = new RepmgrCluster(await Cluster.start({ diskMegabytes: undefined, settings }));
    return startOrStop(cluster, () => cluster.#begin());
  }

  /** Kills its daemon as well. */
  async killPrimary(): Promise<void> {
    await this.#daemonOf(this.servers.primary).kill();
    await this.#cluster.killPrimary();
  }

  /** Waits until the daemon of the standby has promoted it. */
  promote(): Promise<void> {
    return this.servers.untilPromoted();
  }

  async addStandby(): Promise<void> {
    await this.#cluster.addStandby();
    await this.#attend('standby', this.servers.standby);
  }

  fillDisk(): void {
    this.#cluster.fillDisk();
  }

  freeDisk(): void {
    this.#cluster.freeDisk();
  }

  async stop(): Promise<void> {
    for (const daemon of this.#daemons.values()) await daemon.kill();
    await this.#cluster.stop();
  }

  async #begin(): Promise<void> {
    for (const [index, member] of this.servers.all.entries()) {
      const lines = Object.entries(this.#settingsOf(member)).map(([name, value]) => `${name}='${value}'\n`);
      writeFileSync(this.#file(member), `node_id=${index + 1}\n${lines.join('')}`, { mode: 0o600 });
      this.#cluster.home.give(this.#file(member));
    }
    await this.#attend('primary', this.servers.primary);
    await this.#attend('standby', this.servers.standby);
  }

  /** Tells repmgr what the server now is, and starts its daemon. */
  async #attend(role: 'primary' | 'standby', member: Member): Promise<void> {
    // The daemon of a standby ends when it starts before the standby has the record about itself.
    const waits = role === 'standby' ? ['--wait-sync=30'] : [];
    await this.#cluster.home.runAside(this.#program, ['-f', this.#file(member), role, 'register', '--force', ...waits]);
    const daemon = this.#daemonOf(member);
    if (!daemon.isRunning) daemon.start();
  }

  #daemonOf(member: Member): GuardedProgram {
    return this.#daemons.get(member) as GuardedProgram;
  }

  #file({ name }: Member): string {
    return join(this.#cluster.home.directory, `${name}-repmgr.conf`);
  }

  #settingsOf(member: Member): Readonly<Record<string, string>> {
    const { username, password } = this.servers.superuser;
    const command = `${this.#program} -f ${this.#file(member)} standby`;
    return {
      node_name: member.name,
      conninfo: `host=127.0.0.1 port=${member.port} user=${username} password=${password} dbname=postgres connect_timeout=2`,
      data_directory: member.data,
      pg_bindir: this.#cluster.bin,
      failover: 'automatic',
      promote_command: `${command} promote`,
      follow_command: `${command} follow --upstream-node-id=%n`,
      monitor_interval_secs: '1',
      reconnect_attempts: String(RECONNECTS),
      reconnect_interval: '1',
    };
  }
}
