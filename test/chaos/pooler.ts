import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, Home } from '../fixtures/postgres-server.ts';
import { GuardedProgram, untilListening } from './guarded.ts';

/** Name and password of a user whose connections are pooled. */
interface PooledUser {
  readonly name: string;
  readonly password: string;
}

/** PgBouncer in session mode before one server. */
export class Pooler {
  readonly port: number;
  readonly #home: Home;
  readonly #program: GuardedProgram;

  private constructor(home: Home, port: number) {
    this.port = port;
    this.#home = home;
    this.#program = new GuardedProgram(home, join(home.directory, 'pgbouncer.log'), ['pgbouncer', configOf(home)]);
  }

  /** `target`: the port of the server on this machine. */
  static async start(target: number, users: readonly PooledUser[]): Promise<Pooler> {
    const home = new Home();
    const port = await freePort();
    const write = (path: string, text: string): void => {
      writeFileSync(path, text, { mode: 0o600 });
      home.give(path);
    };
    const list = join(home.directory, 'users.txt');
    write(list, users.map(({ name, password }) => `"${name}" "${password}"\n`).join(''));
    const settings = { ...SETTINGS, listen_port: String(port), auth_file: list, unix_socket_dir: home.directory };
    const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}\n`);
    write(configOf(home), `[databases]\n* = host=127.0.0.1 port=${target}\n\n[pgbouncer]\n${lines.join('')}`);
    const pooler = new Pooler(home, port);
    await pooler.restart();
    return pooler;
  }

  /** Starts it again after `kill`. */
  async restart(): Promise<void> {
    this.#program.start();
    await untilListening(this.port, 'PgBouncer');
  }

  kill(): Promise<void> {
    return this.#program.kill();
  }

  async stop(): Promise<void> {
    await this.#program.kill();
    await this.#home.remove();
  }
}

const configOf = (home: Home): string => join(home.directory, 'pgbouncer.ini');

const SETTINGS = {
  listen_addr: '127.0.0.1',
  pool_mode: 'session',
  auth_type: 'scram-sha-256',
  max_client_conn: '400',
  default_pool_size: '100',
  // A failed login at a server that is down is reported at once, as the server itself would.
  server_login_retry: '0',
};
