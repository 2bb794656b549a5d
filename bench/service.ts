import { Child, variables } from './child.ts';
import type { Ready, ServerOrder, ServerReport, Usage } from './server.ts';

/** How a node of the service is started. */
export interface ServiceOptions {
  readonly directory: string;
  /** Address of its database; empty is SQLite in its folder. */
  readonly database: string;
  /** Tokens it makes before the first request; a node that joins another makes nothing. */
  readonly rows: number | 'joins';
  readonly profiles: string | undefined;
}

/** One node of the service under load. */
export class Service {
  readonly #child: Child<ServerOrder, ServerReport>;

  constructor({ directory, database, rows, profiles }: ServiceOptions) {
    const execArgv = profiles === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profiles}`];
    const env = { ...variables(directory), CARDVAULT_DATABASE_URL: database };
    this.#child = new Child('server.ts', [String(rows)], { execArgv, env });
  }

  /** To be asked for first. */
  async ready(): Promise<Ready> {
    const report = await this.#child.report();
    if (!('ready' in report)) throw new Error('the server did not start');
    return report.ready;
  }

  async configure(settings: Readonly<Record<string, string>>): Promise<void> {
    await this.#child.send({ kind: 'configure', settings });
  }

  async usage(): Promise<Usage> {
    const report = await this.#child.send({ kind: 'usage' });
    if (!('usage' in report)) throw new Error('the server did not tell its usage');
    return report.usage;
  }

  async stop(): Promise<void> {
    await this.#child.send({ kind: 'stop' });
    await this.#child.ended();
  }

  kill(): void {
    this.#child.kill();
  }
}
