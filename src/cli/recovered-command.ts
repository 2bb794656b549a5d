import type { Command } from 'commander';
import { formatIso8601, parseIso8601 } from '../kernel/clock.ts';
import { type CliContext, withCore } from './context.ts';
import { invalidOption } from './options.ts';
import { printResult, UsageError } from './output.ts';
import { continueVault, describeRules } from './verify-restored.ts';

interface RecoveredOptions {
  readonly to: number;
  readonly force?: boolean;
  readonly json?: boolean;
}

const parseTime = (text: string): number =>
  parseIso8601(text) ?? invalidOption('expected a time in ISO 8601 with its zone');

/** Completes a restore that the tools of PostgreSQL made, as `restore` does for a file. */
export function recoveredCommand(program: Command, tools: CliContext): void {
  program
    .command('recovered')
    .description('finish a recovery of PostgreSQL to an earlier time, before the first node starts on it')
    .requiredOption('--to <time>', 'time to which the database was recovered, in ISO 8601', parseTime)
    .option('--force', 'skip the check that no node was active within the last minute')
    .option('--json', 'print JSON')
    .action(async (options: RecoveredOptions) => {
      if (tools.paths().database.kind === 'sqlite')
        throw new UsageError(
          'only PostgreSQL is recovered to a time; a backup of SQLite is restored by: cardvault restore',
        );
      const sadKeys = await destroySadKeys(tools, options);
      await recordRecovery(tools, options, sadKeys);
    });
}

/** The captures of the recovered database may have been authorized since. Returns the number of keys. */
async function destroySadKeys(tools: CliContext, { force }: RecoveredOptions): Promise<number> {
  const { hasRecentActivity } = await import('../storage/copy.ts');
  const opened = await tools.openConfiguredDatabase();
  try {
    if (!(await opened.connect())) throw new UsageError('this database contains no vault');
    if (force !== true && (await hasRecentActivity(opened.database, opened.clock())))
      throw new UsageError('a node was active within the last minute; stop all nodes, or repeat with --force');
    const keys = await opened.sadKeys.list();
    for (const key of keys) await opened.sadKeys.destroy(key);
    return keys.length;
  } finally {
    await opened.database.close();
  }
}

const recordRecovery = (tools: CliContext, { to, json }: RecoveredOptions, sadKeys: number): Promise<void> =>
  withCore(tools, async (core) => {
    const { toVerificationView } = await import('../audit/verify-journal.ts');
    const what = `PostgreSQL at ${formatIso8601(to)}`;
    const { audit, rules } = await continueVault(core, tools, { what });
    const lines = [
      `recorded that the vault continues from ${what}`,
      `destroyed ${sadKeys} keys of security codes and track data`,
      ...describeRules(rules),
      audit.ok ? `verified ${audit.records} audit records` : `its audit log is NOT in order: ${audit.fault}`,
    ];
    printResult(
      tools,
      json,
      { to: formatIso8601(to), sad_keys: sadKeys, retention_rules: rules, audit: toVerificationView(audit) },
      lines.join('\n'),
    );
  });
