import type { Command } from 'commander';
import type { RewriteReport } from '../storage/database.ts';
import { asOperator, type CliContext, withCore } from './context.ts';
import { EXIT, printResult } from './output.ts';

export function scrubCommand(program: Command, tools: CliContext, exit: (code: number) => void): void {
  program
    .command('scrub')
    .description('clear deleted rows from the files of the database; over PostgreSQL as the owner of the tables')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: boolean }) =>
      withCore(tools, async (core) => {
        const report = await core.database.rewriteTables();
        const { tables, visible, flushed } = report;
        const outcome = visible === 0 ? 'success' : 'partial';
        await asOperator(tools, core, async (transaction) =>
          transaction.record({
            action: 'database.scrubbed',
            outcome,
            account: '',
            environment: '',
            detail: { tables },
          }),
        );
        printResult(tools, json, { tables, visible, flushed }, describe(report).join('\n'));
        if (visible > 0) exit(EXIT.failed);
      }),
    );
}

const LOGS: Readonly<Record<RewriteReport['log'], string>> = {
  cleared: 'cleared the write-ahead log',
  later: 'the write-ahead log is read at present, for example by a backup: the service clears it later',
  kept: 'the write-ahead log, its archives, base backups and standbys keep earlier contents until they end',
};

function describe({ tables, visible, flushed, log }: RewriteReport): string[] {
  const lines = [`rewrote ${tables} tables without deleted rows`];
  if (visible > 0)
    lines.push(`${visible} deleted rows remain, because another transaction may read them; end it and run scrub again`);
  if (!flushed) lines.push('the role may not run checkpoint: the files are complete after checkpoint_timeout');
  lines.push(LOGS[log]);
  return lines;
}
