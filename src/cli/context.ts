import type { KeyObject } from 'node:crypto';
import type { Command } from 'commander';
import type { Accounts } from '../accounts/accounts.ts';
import type { ChangeControl } from '../accounts/change-control.ts';
import type { Actor, Origin } from '../audit/audit.ts';
import type { CustodyOptions } from '../crypto/custody/choose.ts';
import type { AskSecret } from '../crypto/custody/secret-source.ts';
import type { Custody, RootKeys } from '../crypto/custody.ts';
import type { DigestKeys } from '../crypto/digest-keys.ts';
import type { Keyring } from '../crypto/keyring.ts';
import type { SadKeys } from '../crypto/sad-keys.ts';
import type { SigningKeys } from '../crypto/signing-key.ts';
import type { ExamineOptions } from '../doctor/examine.ts';
import type { Fill, Transactions } from '../idempotency/transaction.ts';
import type { Clock, Random } from '../kernel/clock.ts';
import type { TimeGuard } from '../kernel/time-guard.ts';
import type { PaymentActivations } from '../payments/payment-activations.ts';
import type { ProxyConfigurations } from '../proxy/proxy-configurations.ts';
import type { ClockRecordStore } from '../storage/clock-record-store.ts';
import type { Database } from '../storage/database.ts';
import type { RotatedColumns } from '../storage/digest-columns.ts';
import type { DatabaseOptions, OpenedDatabase } from '../storage/open.ts';
import type { Table } from '../storage/table.ts';
import type { TokenRetention } from '../vault/token-retention.ts';
import type { TokenUses } from '../vault/token-uses.ts';
import type { Outbox } from '../webhooks/outbox.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';
import type { StandardOutput } from './standard-output.ts';

/** The dependencies of the commands; opened by the composition root. */
export interface Core {
  /** The root key that opens the database. */
  readonly root: KeyObject;
  readonly custody: Custody;
  readonly database: Database;
  readonly keyring: Keyring;
  readonly sadKeys: SadKeys;
  /** Sign what others check without the vault. */
  readonly signingKeys: SigningKeys;
  /** The key that seals the journal. */
  readonly journalKey: DigestKeys;
  /** Identifies the root key, and reveals nothing of it. */
  readonly rootKeyCheck: string;
  readonly accounts: Accounts;
  readonly changeControl: ChangeControl;
  readonly configurations: ProxyConfigurations;
  readonly activations: PaymentActivations;
  readonly transactions: Transactions;
  readonly webhooks: Webhooks;
  readonly outbox: Outbox;
  readonly retention: TokenRetention;
  readonly tokenUses: TokenUses;
  readonly clock: Clock;
  readonly time: TimeGuard;
  readonly clockRecords: ClockRecordStore;
  readonly random: Random;
  /**
   * Writes the vault as it is at one moment to a new SQLite file, while nodes use it. `tables`: those to copy from a database
   * of another kind.
   */
  writeSnapshot(path: string, tables: readonly Table[]): Promise<void>;
  close(): Promise<void>;
}

/** The invitation by which the console gets its first user. */
export interface FirstOperator {
  /** Returns the link once: while there is no operator and no pending invitation of an operator. */
  invite(consoleUrl: string, origin: Origin): Promise<string | undefined>;
  exists(): Promise<boolean>;
}

/** A service that accepts connections. */
export interface RunningService {
  readonly core: Core;
  /** `cards`: of the card form; 0 when it is not served. */
  readonly ports: {
    readonly production: number;
    readonly sandbox: number;
    readonly console: number;
    readonly cards: number;
  };
  readonly addresses: readonly string[];
  /** The certificate that clients have to trust, when cardvault created it. */
  readonly caFile: string | undefined;
  /** Undefined without the console. */
  readonly firstOperator: FirstOperator | undefined;
  stop(): Promise<void>;
}

/** The root key of custodians, held for commands without a service. */
export interface HeldRootKey {
  /** Number of shares that open the root key. */
  readonly threshold: number;
  /** The path of the socket. */
  readonly socket: string;
  close(): Promise<void>;
}

export interface PathSettings {
  readonly dataDirectory: string;
  readonly database: DatabaseOptions;
  /** Custody of the root key. */
  readonly rootKey: CustodyOptions;
  /** True when the database is the one in the data directory. */
  readonly isEmbedded: boolean;
  readonly ports: { readonly console: number };
  /** The address of the console for users, when the operator configured it. */
  readonly consoleUrl: string | undefined;
  /** How long records of the audit log remain in the database. */
  readonly auditRetentionMs: number;
  /** Receivers of the audit log; undefined: none of the kind. */
  readonly auditReceivers: { readonly syslog: object | undefined; readonly otlp: object | undefined };
  /** The name that `CARDVAULT_OPERATOR` gives the operator; without it the user of the operating system is recorded. */
  readonly operatorName: string | undefined;
  /** Public keys that backups are encrypted for, unless a command names others. Not checked yet. */
  readonly backupRecipients: readonly string[];
  /** Encrypted backups that are kept in a folder; 0: all. */
  readonly backupKeep: number;
  /** Rows that a rotation of keys seals again each second. */
  readonly rotationRate: number;
}

export interface OpenOptions {
  /** True when missing files are created. */
  readonly createIfMissing?: boolean;
  /** Another SQLite file than the configured database. */
  readonly databaseFile?: string;
  /** The root key, for a command that has it already; absent: custody opens it. */
  readonly roots?: RootKeys;
}

/**
 * The dependencies that `main.ts` passes to the command line. Throws `ConfigError` when the configuration is invalid.
 */
export interface CliEnvironment {
  paths(): PathSettings;
  /** Throws `UsageError` when there is no vault yet, unless it may be created. */
  open(options: OpenOptions): Promise<Core>;
  start(): Promise<RunningService>;
  /** Parses an address as in `CARDVAULT_DATABASE_URL`. Throws a usage error when it is malformed. */
  openDatabase(address: string): Promise<OpenedDatabase>;
  /** Opens the configured database, which need not contain a vault. */
  openConfiguredDatabase(): Promise<OpenedDatabase>;
  /**
   * Opens the audit log of a database for writing; false when the configured root key is missing or belongs to another
   * database.
   */
  unlockJournal(opened: OpenedDatabase): Promise<boolean>;
  /** Asks on the terminal without showing what is typed; absent where standard input is no terminal. */
  readonly askSecret?: AskSecret | undefined;
  /**
   * Returns the custody that another value of `CARDVAULT_ROOT_KEY` chooses, with this file for a kind that names none.
   * Throws `ConfigError`.
   */
  custodyFor(rootKey: string, file?: string): CustodyOptions;
  /** Takes shares of custodians and gives the root key to commands; `onGiven` is called with each user who gets it. */
  holdRootKey(onGiven: (recipient: string) => void): Promise<HeldRootKey>;
  /** Resolves when the process gets a signal to stop. */
  untilStopped(): Promise<void>;
  /** Where standard output goes: what is shown once may be in no log. */
  readonly standardOutput: StandardOutput;
  /** The command by which an operator calls this program. */
  readonly command: string;
  /** Returns the tables of the console, for copies; undefined without the console. */
  readonly listConsoleTables: (() => Promise<readonly Table[]>) | undefined;
  /** Returns the columns of the console that depend on keys, for drills and rotations; undefined without the console. */
  readonly listRotatedConsoleColumns: (() => Promise<RotatedColumns>) | undefined;
  /** Adds the commands of the console; undefined without the console. */
  readonly addConsoleCommands: ((program: Command, tools: CliContext) => void) | undefined;
  /** The installation that `doctor` examines, and the means to measure it. */
  readonly surroundings: Pick<ExamineOptions, 'installation' | 'variables' | 'stopwatch' | 'random'>;
  readonly clock: Clock;
  out(text: string): void;
  err(text: string): void;
}

/** The context of one command. */
export interface CliContext extends CliEnvironment {
  /** Returns the operator, for the audit records of a command that changes or shows data. */
  operatorOrigin(): Origin;
  /** Returns the operator when the command requested it, and therefore left a record. */
  recordedOperator(): Actor | undefined;
}

/** Only commands that create data may create a vault; the others must not leave an empty one in the wrong directory. */
export const CREATE_IF_MISSING: OpenOptions = { createIfMissing: true };

/** Runs a use case of the operator in a transaction. */
export const asOperator = <Result>(tools: CliContext, core: Core, fill: Fill<Result>): Promise<Result> =>
  core.transactions.run({ origin: tools.operatorOrigin() }, fill);

/** Opens the vault for one command and closes it in every case. */
export async function withCore(
  tools: CliContext,
  act: (core: Core) => Promise<void>,
  opening: OpenOptions = {},
): Promise<void> {
  const core = await tools.open(opening);
  try {
    await act(core);
  } finally {
    await core.close();
  }
}
