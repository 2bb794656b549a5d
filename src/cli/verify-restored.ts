import { basename } from 'node:path';
import type { Verification } from '../audit/verify-journal.ts';
import type { RestoredFrom } from '../backup/restored-backup.ts';
import type { Write } from '../storage/database.ts';
import { type CliContext, type Core, withCore } from './context.ts';

const ID_BYTES = 16;

/** A vault that continues from an earlier state of itself. */
export interface ContinuedVault {
  readonly audit: Verification;
  /** Number of retention rules that start again. */
  readonly rules: number;
}

interface Continuation {
  /** The backup, or the time, from which the vault continues. */
  readonly what: string;
  readonly detail?: Readonly<Record<string, string>>;
  /** Committed together with the record. */
  readonly writes?: readonly Write[];
}

/**
 * Verifies the audit log, and records there that it continues from here. The same commit starts the retention rules
 * again, because later uses of tokens are lost.
 */
export async function continueVault(
  core: Core,
  tools: CliContext,
  { what, detail = {}, writes = [] }: Continuation,
): Promise<ContinuedVault> {
  const [{ verifyJournal }, { recordResumption }] = await Promise.all([
    import('../audit/verify-journal.ts'),
    import('../audit/resumption.ts'),
  ]);
  const audit = await verifyJournal(core.database, core.journalKey, { signingKeys: core.signingKeys });
  const id = Buffer.from(core.random.bytes(ID_BYTES)).toString('hex');
  const rules = await core.retention.restart();
  const changes = { writes: [...writes, ...rules.writes], events: rules.events };
  const origin = tools.operatorOrigin();
  await recordResumption(core, { action: 'vault.restored', origin, id, what, detail, ...changes });
  return { audit, rules: rules.writes.length };
}

/** Returns the line of output about the retention rules; none without a rule. */
export const describeRules = (rules: number): string[] =>
  rules === 0 ? [] : [`started ${rules} retention rules again: uses count from now on, and no deletion is announced`];

/**
 * Opens a database from a backup with the root key, updates its schema, verifies its audit log, and records there that
 * it continues from here. `source`: the backup to record with it; undefined when the database contains its row already.
 */
export async function verifyRestored(
  databaseFile: string,
  tools: CliContext,
  file: string,
  source: RestoredFrom | undefined,
): Promise<ContinuedVault> {
  let continued: ContinuedVault | undefined;
  const [{ describeRestoredBackup }, { insertBackup }, { digestFile }] = await Promise.all([
    import('../backup/restored-backup.ts'),
    import('../backup/backup-store.ts'),
    import('../backup/create-backup.ts'),
  ]);
  const { sha256 } = await digestFile(databaseFile);
  await withCore(
    tools,
    async (core) => {
      const backup = source && (await describeRestoredBackup(core, source));
      continued = await continueVault(core, tools, {
        what: basename(file),
        detail: { sha256, ...(backup !== undefined && { backup: backup.id }) },
        writes: backup === undefined ? [] : [insertBackup(backup)],
      });
    },
    { databaseFile },
  );
  if (continued === undefined) throw new Error('a backup was opened and not verified');
  return continued;
}
