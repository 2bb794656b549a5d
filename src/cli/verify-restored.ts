import { basename } from 'node:path';
import type { Verification } from '../audit/verify-journal.ts';
import { type CliContext, withCore } from './context.ts';

const ID_BYTES = 16;

/**
 * Opens a database from a backup with the root key, updates its schema, verifies its audit log, and records there that it
 * continues from here.
 */
export async function verifyRestored(databaseFile: string, tools: CliContext, backup: string): Promise<Verification> {
  let audit: Verification | undefined;
  const [{ verifyJournal }, { recordResumption }, { digestFile }] = await Promise.all([
    import('../audit/verify-journal.ts'),
    import('../audit/resumption.ts'),
    import('../backup/create-backup.ts'),
  ]);
  const { sha256 } = await digestFile(databaseFile);
  await withCore(
    tools,
    async (core) => {
      audit = await verifyJournal(core.database, core.journalKey, { signingKeys: core.signingKeys });
      const id = Buffer.from(core.random.bytes(ID_BYTES)).toString('hex');
      const detail = { action: 'vault.restored', origin: tools.operatorOrigin(), id, what: basename(backup) } as const;
      await recordResumption(core, { ...detail, detail: { sha256 } });
    },
    { databaseFile },
  );
  if (audit === undefined) throw new Error('a backup was opened and not verified');
  return audit;
}
