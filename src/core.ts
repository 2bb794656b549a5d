import { existsSync } from 'node:fs';
import { Accounts } from './accounts/accounts.ts';
import { auditEntry } from './audit/audit.ts';
import type { Core } from './cli/core.ts';
import { UsageError } from './cli/output.ts';
import type { Config } from './config.ts';
import { makeRootKey, readRootKey } from './crypto/custody.ts';
import { Keyring } from './crypto/keyring.ts';
import { systemRandom } from './crypto/random.ts';
import type { Clock } from './kernel/clock.ts';
import { ENVIRONMENTS } from './kernel/environment.ts';
import { Activations, type Processors } from './payments/activations.ts';
import { newProcessors } from './payments/processors.ts';
import { openPeople } from './people/open.ts';
import { Configurations } from './proxy/configurations.ts';
import { unfinishedCopy } from './storage/copy.ts';
import { commitAll, type Driver } from './storage/database.ts';
import { holdsKeys, wrappedKeyStore } from './storage/key-store.ts';
import { type Opened, openDatabase } from './storage/open.ts';

const NO_VAULT = 'there is no vault in this database; start the service once, or run: cardvault migrate';
const UNFINISHED = 'a copy into this database was not finished; run the same cardvault copy again';

export interface OpenCore extends Core {
  readonly database: Driver;
  readonly opened: Opened;
  readonly processors: Processors;
}

/** Database, keys and accounts: what the command line and the service share. Makes what is missing. */
export async function openCore(config: Config, own: Clock, { make = true } = {}): Promise<OpenCore> {
  const random = systemRandom();
  const opened = openDatabase(config.database, own, random);
  const { database, clock } = opened;
  try {
    if (!(await opened.meet()) && !make) throw new UsageError(NO_VAULT);
    await database.migrate(clock);
    if (await unfinishedCopy(database)) throw new UsageError(UNFINISHED);
    const isNew = !(await holdsKeys(database));
    // Another may just be making it, or was stopped while it did.
    if (isNew && !make) throw new UsageError(NO_VAULT);
    if (isNew && !existsSync(config.rootKeyFile)) makeRootKey(config.rootKeyFile);
    const root = readRootKey(config.rootKeyFile);
    const keyring = new Keyring({ root, store: wrappedKeyStore(database), clock, random });
    const beganHere = await keyring.prepare(['service', ...ENVIRONMENTS]);
    const journalKey = await keyring.digestKey({ account: '', environment: 'service', purpose: 'journal' });
    await database.useJournalKey(journalKey);
    if (beganHere) {
      const event = { action: 'service.initialised', outcome: 'success', account: '', environment: '' } as const;
      await commitAll(database, { writes: [], journal: [auditEntry(clock, { actor: { type: 'service' } }, event)] });
    }
    const accounts = new Accounts({ database, keyring, clock, random });
    const people = openPeople({ database, keyring, clock, random });
    const configurations = new Configurations({ database, keyring, clock });
    const processors = newProcessors({ database, clock, random });
    const activations = new Activations({ database, keyring, clock, processors: processors.byName });
    const close = async (): Promise<void> => {
      processors.close();
      await database.close();
    };
    const capabilities = { accounts, people, configurations, activations, processors: processors.byName };
    return { database, opened, keyring, journalKey, ...capabilities, clock, random, close };
  } catch (error) {
    await database.close();
    throw error;
  }
}
