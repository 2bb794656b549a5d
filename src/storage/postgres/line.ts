import type { Row } from '../database.ts';
import { Connection, ConnectionLost, type PostgresOptions } from './connection.ts';
import type { Statement } from './statements.ts';

/** After a failed attempt to connect, how long everybody is told so at once. Milliseconds. */
export const REST_MS = 250;

/** A connection that is made again when it was lost. */
export class Line {
  readonly #options: PostgresOptions;
  #connection: Promise<Connection> | undefined;
  #open: Connection | undefined;
  #away: ConnectionLost | undefined;
  #closed = false;

  constructor(options: PostgresOptions) {
    this.#options = options;
  }

  get pending(): number {
    return this.#open?.pending ?? 0;
  }

  /** Throws `ConnectionLost` when the database is away. */
  async connection(): Promise<Connection> {
    if (this.#closed) throw new ConnectionLost('the database is closed');
    if (this.#open !== undefined && !this.#open.isLost) return this.#open;
    if (this.#away !== undefined) throw this.#away;
    this.#connection ??= this.#connect().finally(() => {
      this.#connection = undefined;
    });
    return this.#connection;
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
    await this.#connection?.catch(() => undefined);
    await this.#open?.close();
  }

  async #connect(): Promise<Connection> {
    try {
      const connection = await Connection.open(this.#options);
      this.#open = connection;
      if (this.#closed) await connection.close();
      return connection;
    } catch (error) {
      const away = error instanceof ConnectionLost ? error : new ConnectionLost('the database cannot be reached');
      this.#away = away;
      setTimeout(() => {
        this.#away = undefined;
      }, REST_MS).unref();
      throw away;
    }
  }
}
