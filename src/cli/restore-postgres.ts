import { join } from 'node:path';
import { toVerificationView } from '../audit/verify-journal.ts';
import { extractBackup } from '../backup/open-backup.ts';
import type { Identities } from '../crypto/age-file.ts';
import { systemRandom } from '../crypto/random.ts';
import { OperatorError } from '../kernel/operator-error.ts';
import {
  assertNoSadKeys,
  beginCopy,
  compareRows,
  copyRows,
  createSchema,
  finishCopy,
  hasCopyBegun,
  hasRecentActivity,
  identifySource,
} from '../storage/copy.ts';
import type { OpenedDatabase } from '../storage/open.ts';
import { createTemporaryFolder, temporaryFolderOf } from '../storage/sqlite/temporary-folder.ts';
import type { CliContext } from './context.ts';
import { listTables } from './copy.ts';
import { printResult, UsageError } from './output.ts';
import { describeRules, verifyRestored } from './verify-restored.ts';

interface PostgresRestore {
  readonly file: string;
  readonly identities: Identities | undefined;
}

const NAME_BYTES = 8;

/**
 * Restores an encrypted backup to the configured PostgreSQL database, which must be empty. The backup is verified before
 * the first row is written, and all rows are compared afterwards; until then no node opens the target.
 */
export async function restoreToPostgres(
  tools: CliContext,
  { file, identities }: PostgresRestore,
  { json, force, keepOld }: { readonly json?: boolean; readonly force?: boolean; readonly keepOld?: string },
): Promise<void> {
  if (identities === undefined)
    throw new UsageError(
      'a copy without encryption goes into PostgreSQL by: cardvault copy --from sqlite:FILE; ' +
        'then run: cardvault recovered --to TIME, with the time of that copy',
    );
  if (force === true || keepOld !== undefined)
    throw new UsageError('--force, --keep-old: only for SQLite; create an empty PostgreSQL database instead');
  const name = `restore_${Buffer.from(systemRandom().bytes(NAME_BYTES)).toString('hex')}`;
  const folder = createTemporaryFolder(temporaryFolderOf(tools.paths().dataDirectory), name);
  try {
    const target = await tools.openConfiguredDatabase();
    try {
      await assertEmpty(target);
      const database = join(folder.path, 'cardvault.db');
      const manifest = await extractBackup(file, identities, database);
      const { audit, rules } = await verifyRestored(database, tools, file, { file, manifest });
      const rows = await fill(tools, database, target);
      const fault = audit.ok ? [] : [`its audit log is NOT in order: ${audit.fault}`];
      const lines = [`restored ${rows} rows to PostgreSQL`, ...describeRules(rules), ...fault];
      const view = {
        ...{ database: 'PostgreSQL', rows },
        ...(rules > 0 && { retention_rules: rules }),
        audit: toVerificationView(audit),
      };
      printResult(tools, json, view, lines.join('\n'));
    } finally {
      await target.database.close();
    }
  } finally {
    folder.remove();
  }
}

async function assertEmpty({ database, clock, connect, sadKeys }: OpenedDatabase): Promise<void> {
  await connect();
  await createSchema(database, clock);
  if (await hasCopyBegun(database))
    throw new OperatorError(
      'the database holds a copy or an interrupted restore; create an empty one, and begin again',
    );
  if (await hasRecentActivity(database, clock()))
    throw new UsageError('the database was used by a node within the last minute; stop all nodes first');
  await assertNoSadKeys(sadKeys);
}

/** Returns the number of rows. */
async function fill(tools: CliContext, file: string, { database: target, clock }: OpenedDatabase): Promise<number> {
  const tables = await listTables(tools);
  const source = await tools.openDatabase(`sqlite:${file}`);
  try {
    const vault = await identifySource(source.database);
    await beginCopy(target, { source: vault, tables }, clock());
    const job = { source: source.database, target, tables, progress: () => undefined };
    await copyRows(job);
    const compared = await compareRows(job);
    await finishCopy(target, clock());
    return compared.reduce((sum, { rows }) => sum + rows, 0);
  } finally {
    await source.database.close();
  }
}
