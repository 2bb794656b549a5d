import type { KeyObject } from 'node:crypto';
import type { Accounts } from '../accounts/accounts.ts';
import type { Keyring } from '../crypto/keyring.ts';
import type { Clock, Random } from '../kernel/clock.ts';
import type { Activations } from '../payments/activations.ts';
import type { PeopleParts } from '../people/open.ts';
import type { Configurations } from '../proxy/configurations.ts';
import type { Database } from '../storage/database.ts';
import type { DatabaseOptions, Opened } from '../storage/open.ts';

/** What commands work with; opened by the composition root. */
export interface Core {
  readonly database: Database;
  readonly keyring: Keyring;
  /** Seals the journal. */
  readonly journalKey: KeyObject;
  readonly accounts: Accounts;
  readonly people: PeopleParts;
  readonly configurations: Configurations;
  readonly activations: Activations;
  readonly clock: Clock;
  readonly random: Random;
  close(): Promise<void>;
}

/** A service that listens. */
export interface Running {
  readonly core: Core;
  readonly ports: { readonly production: number; readonly sandbox: number; readonly console: number };
  readonly addresses: readonly string[];
  /** The certificate that clients trust, when it was made here. */
  readonly authorityFile: string | undefined;
  stop(): Promise<void>;
}

export interface Paths {
  readonly dataDirectory: string;
  readonly database: DatabaseOptions;
  readonly rootKeyFile: string;
  /** True when the database is the one in the data directory. */
  readonly embedded: boolean;
  readonly ports: { readonly console: number };
  /** Where people reach the console, when the operator said it. */
  readonly consoleUrl: string | undefined;
}

export interface Opening {
  /** Make what is missing. */
  readonly make?: boolean;
  /** Another SQLite file than the configured database. */
  readonly databaseFile?: string;
}

/** What `main.ts` hands to the command line. Throws `ConfigError` when the configuration is wrong. */
export interface Tools {
  paths(): Paths;
  /** Throws `UsageError` when there is no vault yet, unless it may be made. */
  open(options: Opening): Promise<Core>;
  start(): Promise<Running>;
  /** Of an address as in `CARDVAULT_DATABASE_URL`. Throws an error of wrong use when it is malformed. */
  openDatabase(address: string): Opened;
  /** Resolves when the process is asked to end. */
  untilStopped(): Promise<void>;
  readonly clock: Clock;
  out(text: string): void;
  err(text: string): void;
}

/** For commands that begin something; any other in a wrong directory must not leave a new, empty vault behind. */
export const MAKES_VAULT: Opening = { make: true };

/** Opens the vault for one command and closes it whatever happens. */
export async function withCore(tools: Tools, act: (core: Core) => Promise<void>, opening: Opening = {}): Promise<void> {
  const core = await tools.open(opening);
  try {
    await act(core);
  } finally {
    await core.close();
  }
}
