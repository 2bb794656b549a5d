import type { Row } from '../database.ts';
import { Connection, ConnectionLost, type PostgresOptions } from './connection.ts';
import type { Statement } from './statements.ts';

/** After a failed attempt to connect, how long everybody is told so at once. Milliseconds. */
export const REST_MS = 250;

/** A connection that is made again when it was lost. */
export class Line {
  readonly #options: PostgresOptions;
  #connecting: Promise<Connection> | undefined;
  #connection: Connection | undefined;
  #away: ConnectionLost | undefined;
  #closed = false;

  constructor(options: PostgresOptions) {
    this.#options = options;
  }

  get pending(): number {
    return this.#connection?.pending ?? 0;
  }

  /** Throws `ConnectionLost` when the database is away. */
  async connection(): Promise<Connection> {
    if (this.#closed) throw new ConnectionLost('the database is closed');
    if (this.#connection !== undefined && !this.#connection.isLost) return this.#connection;
    if (this.#away !== undefined) throw this.#away;
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  /** For what may be done twice: a connection that breaks under it is made again, once. */
  async read(statement: Statement): Promise<Row[]> {
    try {
      return await (await this.connection()).run(statement);
    } catch (error) {
      if (!(error instanceof ConnectionLost) || this.#away !== undefined || this.#closed) throw error;
      return (await this.connection()).run(statement);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#connecting?.catch(() => undefined);
    await this.#connection?.close();
  }

  async #connect(): Promise<Connection> {
    try {
      const connection = await Connection.open(this.#options);
      this.#connection = connection;
      if (this.#closed) await connection.close();
      return connection;
    } catch (error) {
      this.#away = error as ConnectionLost;
      setTimeout(() => {
        this.#away = undefined;
      }, REST_MS).unref();
      throw error;
    }
  }
}
