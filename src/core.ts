import type { KeyObject } from 'node:crypto';
import { dirname } from 'node:path';
import type { MessagePort } from 'node:worker_threads';
import { Accounts } from './accounts/accounts.ts';
import { ChangeControl } from './accounts/change-control.ts';
import { RequestLog } from './accounts/request-log.ts';
import { RootKeyExposure } from './accounts/root-key-exposure.ts';
import { Usage } from './accounts/usage.ts';
import { buildAuditEntry } from './audit/audit.ts';
import type { Core } from './cli/context.ts';
import { UsageError } from './cli/output.ts';
import type { Config } from './config.ts';
import { groupIdOf, isKeyInClearIn, openCustody } from './crypto/custody/choose.ts';
import type { AskSecret } from './crypto/custody/secret-source.ts';
import { type Custody, CustodyError, keyCheckValue, type RootKeys } from './crypto/custody.ts';
import { DigestKeys } from './crypto/digest-keys.ts';
import { Keyring, MissingKeyError, WrongRootKeyError } from './crypto/keyring.ts';
import { systemRandom } from './crypto/random.ts';
import { SadKeys } from './crypto/sad-keys.ts';
import { SIGNING_KEY, SigningKeys } from './crypto/signing-key.ts';
import type { KeyEnvironment, KeyOwner } from './crypto/wrapped-key.ts';
import { IdempotencyKeys } from './idempotency/idempotency-keys.ts';
import { Transactions } from './idempotency/transaction.ts';
import type { Clock, MonotonicClock, Random, Timers } from './kernel/clock.ts';
import { ENVIRONMENTS } from './kernel/environment.ts';
import { OperatorError } from './kernel/operator-error.ts';
import type { StepObserver } from './kernel/steps.ts';
import { TimeGuard } from './kernel/time-guard.ts';
import { PaymentActivations, type Processors } from './payments/payment-activations.ts';
import { ProcessorHosts } from './payments/processor-hosts.ts';
import type { OnHostRefused } from './payments/processors/outbound-http.ts';
import { createProcessors } from './payments/processors.ts';
import { ProxyConfigurations } from './proxy/proxy-configurations.ts';
import { ClockRecordStore, findKnownJump } from './storage/clock-record-store.ts';
import { unfinishedCopy } from './storage/copy.ts';
import type { Driver } from './storage/database.ts';
import { insertRegister } from './storage/lane-register.ts';
import { type OpenedDatabase, openDatabase } from './storage/open.ts';
import { writeSnapshot } from './storage/snapshot.ts';
import { shareDatabase } from './storage/sqlite/share-database.ts';
import { removeAbandonedFolders, temporaryFolderOf } from './storage/sqlite/temporary-folder.ts';
import { hasRows, hasWrappedKeys, insertWrappedKeys, wrappedKeyStore } from './storage/wrapped-key-store.ts';
import { listCopiedTables } from './tables.ts';
import { TokenRetention } from './vault/token-retention.ts';
import { TokenUses } from './vault/token-uses.ts';
import { VERSION } from './version.ts';
import { Outbox } from './webhooks/outbox.ts';
import { WebhookSender } from './webhooks/send.ts';
import { TargetAddresses } from './webhooks/target-address.ts';
import { Webhooks } from './webhooks/webhooks.ts';

const NO_VAULT = 'this database contains no vault; start the service once, or run: cardvault migrate';
const NO_KEYS = 'all keys were removed from the database, which is no new vault: restore a backup';
const UNFINISHED = 'a copy into this database was not finished; run the same cardvault copy again';

const KEY_ENVIRONMENTS: readonly KeyEnvironment[] = ['service', ...ENVIRONMENTS];
const JOURNAL_KEY: KeyOwner = { account: '', environment: 'service', purpose: 'journal' };

export interface OpenCore extends Core {
  readonly database: Driver;
  readonly opened: OpenedDatabase;
  readonly processors: Processors;
  readonly idempotency: IdempotencyKeys;
  readonly usage: Usage;
  readonly tokenUses: TokenUses;
  readonly requestLog: RequestLog;
  readonly rootKeyExposure: RootKeyExposure;
  /** Observes the steps of requests; undefined while there are no traces. */
  readonly steps: StepObserver | undefined;
  /** Sends webhooks. */
  readonly sender: WebhookSender;
  onHostRefused(report: OnHostRefused): void;
}

/** Allows the members of the group to run commands beside the service, which then use its database as well. */
function shareFiles({ database, dataDirectory }: Config, group: number, createIfMissing: boolean): void {
  if (database.kind !== 'sqlite') return;
  // The mode of an existing folder is the operator's choice.
  shareDatabase(database.file, group, { createIfMissing, folder: dirname(database.file) === dataDirectory });
}

/** The clocks of the process. */
export interface Clocks {
  /** Decides over SQLite; over PostgreSQL it advances the time of the database. */
  readonly clock: Clock;
  readonly monotonic: MonotonicClock;
  /** Measures durations finer than `monotonic` may; absent: `monotonic` does. */
  readonly stopwatch?: MonotonicClock;
  /** Absent: those of the machine. */
  readonly timers?: Timers;
}

interface CoreOptions {
  readonly createIfMissing?: boolean;
  /** The root key, where the caller has it already; absent: custody opens it. */
  readonly roots?: RootKeys | undefined;
  /** Asks the operator for the passphrase of the root key. */
  readonly ask?: AskSecret | undefined;
  /** Observes the steps of requests. */
  readonly steps?: StepObserver | undefined;
}

/** Database, keys and accounts: the part that the command line and the service share. Creates what is missing. */
export async function openCore(config: Config, clocks: Clocks, options: CoreOptions = {}): Promise<OpenCore> {
  const { createIfMissing = true, ask } = options;
  const random = systemRandom();
  const custody = openCustody(config.rootKey, ask);
  const group = groupIdOf(config.rootKey.group);
  if (group !== undefined) shareFiles(config, group, createIfMissing);
  removeAbandonedFolders(temporaryFolderOf(config.dataDirectory), clocks.clock());
  const opened = openDatabase(config.database, clocks.clock, random);
  try {
    const isNew = await prepareDatabase(opened, createIfMissing);
    const roots = options.roots ?? (await openRootKeys(custody, isNew));
    const root = await chooseRootKey(opened, roots);
    return await buildCore(config, clocks, { opened, custody, random, root, isNew, steps: options.steps });
  } catch (error) {
    await opened.database.close();
    throw error;
  }
}

async function openRootKeys(custody: Custody, isNew: boolean): Promise<RootKeys> {
  if (isNew && !custody.exists()) await custody.create();
  return custody.open();
}

/**
 * Returns the root key that the database needs: while a replacement is not finished, that may be the former one. Without a
 * key that fits it returns the newest, and opening the keyring reports the fault.
 */
async function chooseRootKey({ database, clock }: OpenedDatabase, { root, previous }: RootKeys): Promise<KeyObject> {
  if (previous === undefined) return root;
  for (const each of [root, previous]) {
    const keyring = new Keyring({ root: each, store: wrappedKeyStore(database), clock, random: systemRandom() });
    try {
      await keyring.initialize(KEY_ENVIRONMENTS);
      return each;
    } catch (error) {
      if (!(error instanceof WrongRootKeyError)) throw error;
    }
  }
  return root;
}

/** Returns the root keys that custody has now, where another process may have replaced the one that this process has. */
const listRootKeys = (custody: Custody) => async (): Promise<readonly KeyObject[]> => {
  try {
    const { root, previous } = await custody.open();
    return previous === undefined ? [root] : [root, previous];
  } catch (error) {
    // The vault is sealed, or custody cannot be reached: the root key that this process has decides.
    if (error instanceof CustodyError) return [];
    throw error;
  }
};

/** The part of the vault that the main thread has opened. */
export interface OpenedByMain {
  readonly root: KeyObject;
  /** SQLite: a port to the writer thread. */
  readonly writerPort: MessagePort | undefined;
}

/** Opens the vault once more, for a thread that serves requests: database connections, keys and caches of its own. */
export async function joinCore(
  config: Config,
  clocks: Clocks,
  { root, writerPort }: OpenedByMain,
  steps?: StepObserver,
): Promise<OpenCore> {
  const random = systemRandom();
  const opened = openDatabase(config.database, clocks.clock, random, writerPort);
  try {
    await opened.connect();
    const custody = openCustody(config.rootKey);
    return await buildCore(config, clocks, { opened, custody, random, root, isNew: false, steps });
  } catch (error) {
    await opened.database.close();
    throw error;
  }
}

/** Returns true for a database without a vault. */
async function prepareDatabase(opened: OpenedDatabase, createIfMissing: boolean): Promise<boolean> {
  const { database, clock } = opened;
  if (!(await opened.connect()) && !createIfMissing) throw new UsageError(NO_VAULT);
  await database.migrate(clock);
  if (await unfinishedCopy(database)) throw new UsageError(UNFINISHED);
  const isNew = !(await hasWrappedKeys(database));
  // Another process may be creating it, or was stopped during that.
  if (isNew && !createIfMissing) throw new UsageError(NO_VAULT);
  // Keys are read once more, because another process may have created the vault in between.
  if (isNew && (await hasRows(database, listCopiedTables([]))) && !(await hasWrappedKeys(database)))
    throw new OperatorError(NO_KEYS);
  return isNew;
}

interface CoreParts {
  readonly opened: OpenedDatabase;
  readonly custody: Custody;
  readonly random: Random;
  readonly root: KeyObject;
  readonly isNew: boolean;
  readonly steps: StepObserver | undefined;
}

async function buildCore(
  config: Config,
  clocks: Clocks,
  { opened, custody, random, root, isNew, steps }: CoreParts,
): Promise<OpenCore> {
  const { database, clock } = opened;
  const listOtherRoots = listRootKeys(custody);
  const keyring = new Keyring({ root, listOtherRoots, store: wrappedKeyStore(database), clock, random });
  if (isNew) await initializeVault({ database, keyring, clock });
  await keyring.initialize(KEY_ENVIRONMENTS);
  const journalKey = await keyring.firstDigests(JOURNAL_KEY);
  await database.useJournalKey(journalKey);
  const time = new TimeGuard({ clock, monotonic: clocks.monotonic, timers: clocks.timers });
  const clockRecords = await ClockRecordStore.open(database, keyring);
  const known = await clockRecords.list();
  time.begin(known.trusted?.at, findKnownJump(known));
  const parts = { opened, custody, database, root, keyring, clock, time, clockRecords, journalKey, random, steps };
  const idempotency = new IdempotencyKeys(parts);
  const usage = new Usage(parts);
  const accounts = new Accounts(parts);
  const changeControl = new ChangeControl(accounts);
  const hosts = new ProcessorHosts(config.processorHosts);
  const webhookParts = createWebhooks({ ...parts, changeControl }, config);
  const transactions = new Transactions({ ...parts, idempotency, usage });
  const tokenUses = new TokenUses(parts);
  await tokenUses.readRules();
  const processors = createProcessors({ database, clock: () => time.steadyNow(), random, hosts });
  return {
    ...parts,
    ...webhookParts,
    rootKeyCheck: keyCheckValue(root),
    idempotency,
    usage,
    requestLog: new RequestLog({ ...parts, rows: config.requestLogRows }),
    rootKeyExposure: new RootKeyExposure({
      ...parts,
      ...clocks,
      clock,
      isKeyBesideData: isKeyInClearIn(config.dataDirectory, config.rootKey),
    }),
    accounts,
    changeControl,
    processors: processors.byName,
    transactions,
    tokenUses,
    retention: new TokenRetention({ ...parts, ...webhookParts, transactions, changeControl }),
    sadKeys: new SadKeys({ ...parts, store: opened.sadKeys }),
    signingKeys: new SigningKeys(keyring),
    configurations: new ProxyConfigurations({ ...parts, changeControl }),
    activations: new PaymentActivations({ ...parts, processors: processors.byName, hosts, changeControl }),
    onHostRefused: processors.onHostRefused,
    writeSnapshot: (path, tables) =>
      writeSnapshot({
        source: opened,
        openTarget: () => openDatabase({ kind: 'sqlite', file: path }, clock, random),
        path,
        tables,
      }),
    close: async () => {
      processors.close();
      webhookParts.sender.close();
      await database.close();
    },
  };
}

/** Identifies the service to receivers of webhooks. */
export const WEBHOOK_USER_AGENT = `cardvault/${VERSION}`;

/** Builds what writes, manages and sends webhooks. */
function createWebhooks(
  {
    database,
    keyring,
    time,
    random,
    changeControl,
  }: Pick<OpenCore, 'database' | 'keyring' | 'time' | 'random' | 'changeControl'>,
  { webhooks: { networks } }: Config,
) {
  const clock = (): number => time.steadyNow();
  const addresses = new TargetAddresses(networks);
  const outbox = new Outbox({ database, keyring, clock, random });
  const sender = new WebhookSender(addresses);
  const parts = { database, keyring, clock, random, addresses, sender, changeControl };
  return { outbox, sender, webhooks: new Webhooks({ ...parts, userAgent: WEBHOOK_USER_AGENT }) };
}

/** Prepares writing audit records into a database that is not opened as a vault. False without its root key. */
export async function unlockJournal({ rootKey }: Config, opened: OpenedDatabase, ask?: AskSecret): Promise<boolean> {
  const { database, clock } = opened;
  const custody = openCustody(rootKey, ask);
  if (!custody.exists()) return false;
  const root = await chooseRootKey(opened, await custody.open());
  const keyring = new Keyring({ root, store: wrappedKeyStore(database), clock, random: systemRandom() });
  try {
    await database.useJournalKey(await keyring.firstDigests(JOURNAL_KEY));
    return true;
  } catch (error) {
    if (error instanceof WrongRootKeyError || error instanceof MissingKeyError) return false;
    throw error;
  }
}

/**
 * The first keys, the register of lanes and the first record of the audit log are one commit: a vault that lacks one of
 * them was tampered with. Of several processes that start at the same time one commits, and the others find its keys.
 */
async function initializeVault({
  database,
  keyring,
  clock,
}: {
  database: Driver;
  keyring: Keyring;
  clock: Clock;
}): Promise<void> {
  const { rows, digestKeys } = keyring.generateInitialKeys(KEY_ENVIRONMENTS, [JOURNAL_KEY, SIGNING_KEY]);
  const journalKey = DigestKeys.of(digestKeys[0] as KeyObject);
  await database.useJournalKey(journalKey);
  const event = { action: 'service.initialised', outcome: 'success', account: '', environment: '' } as const;
  await database.commit({
    writes: [insertWrappedKeys(rows), insertRegister(journalKey)],
    journal: [buildAuditEntry(clock, { actor: { type: 'service' } }, event)],
  });
}
