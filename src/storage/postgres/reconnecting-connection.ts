import type { Row } from '../database.ts';
import { Connection, ConnectionLost, type PostgresOptions } from './connection.ts';
import type { Statement } from './statements.ts';

/** How long callers get the error of a failed connection attempt without a new attempt, in milliseconds. */
export const RECONNECT_PAUSE_MS = 250;

/** The newest timeline that this node has seen; connections to an older one are closed. */
export interface TimelineTracker {
  timeline: number;
}

/** A connection that is opened again after it was lost, or after its server was replaced. */
export class ReconnectingConnection {
  readonly #options: PostgresOptions;
  readonly #timeline: TimelineTracker;
  #connecting: Promise<Connection> | undefined;
  #connection: Connection | undefined;
  #unavailable: ConnectionLost | undefined;
  #closed = false;

  constructor(options: PostgresOptions, newest: TimelineTracker) {
    this.#options = options;
    this.#timeline = newest;
  }

  get pending(): number {
    return this.#connection?.pending ?? 0;
  }

  /** Throws `ConnectionLost` when the database is unavailable. */
  async connection(): Promise<Connection> {
    if (this.#closed) throw new ConnectionLost('the database is closed');
    this.leaveReplaced();
    if (this.#connection !== undefined && !this.#connection.isLost) return this.#connection;
    if (this.#unavailable !== undefined) throw this.#unavailable;
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  /** Runs an idempotent statement; repeats it once on a new connection when the connection breaks. */
  async read(statement: Statement): Promise<Row[]> {
    try {
      return await (await this.connection()).run(statement);
    } catch (error) {
      if (!(error instanceof ConnectionLost) || this.#unavailable !== undefined || this.#closed) throw error;
      return (await this.connection()).run(statement);
    }
  }

  /** Breaks the connection when its server was replaced: what still runs there may wait for its standby without end. */
  leaveReplaced(): void {
    if (this.#connection !== undefined && this.#connection.timeline < this.#timeline.timeline)
      this.#connection.destroy();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#connecting?.catch(() => undefined);
    await this.#connection?.close();
  }

  async #connect(): Promise<Connection> {
    try {
      const connection = await connectToPrimary(this.#options, this.#timeline);
      this.#connection = connection;
      if (this.#closed) await connection.close();
      return connection;
    } catch (error) {
      this.#unavailable = error as ConnectionLost;
      setTimeout(() => {
        this.#unavailable = undefined;
      }, RECONNECT_PAUSE_MS).unref();
      throw error;
    }
  }
}

/** Throws `ConnectionLost` also when the only available server was replaced by another. */
export async function connectToPrimary(
  options: PostgresOptions,
  newest: TimelineTracker,
  othersWithinMs?: number,
): Promise<Connection> {
  const connection = await Connection.open(options, othersWithinMs);
  if (connection.timeline < newest.timeline) {
    await connection.close();
    throw new ConnectionLost('the database cannot be reached: what answers was replaced by another server');
  }
  newest.timeline = connection.timeline;
  return connection;
}
