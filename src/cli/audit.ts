import type { Command } from 'commander';
import type { AuditRecord } from '../audit/audit.ts';
import { exportJournal, journalHeads, verifyJournal } from '../audit/verify.ts';
import { iso8601 } from '../kernel/clock.ts';
import type { Link } from '../storage/journal.ts';
import { type Tools, withCore } from './core.ts';
import { EXIT, print } from './output.ts';

const exported = ({ lane, sequence, account, environment, at, record, hash }: Link) => ({
  lane,
  sequence,
  time: iso8601(at),
  at,
  account,
  environment,
  ...(JSON.parse(record) as AuditRecord),
  hash,
  record,
});

export function auditCommands(program: Command, tools: Tools, exit: (code: number) => void): void {
  const audit = program.command('audit').description('the audit log');

  audit
    .command('verify')
    .description('find any changed, missing or reordered record; exit code 1 when there is one')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: boolean }) =>
      withCore(tools, async ({ database, journalKey }) => {
        const heads = await journalHeads(database);
        const result = await verifyJournal(database, journalKey);
        const newest = heads.map(
          ({ lane, sequence, hash }) => `newest  lane ${lane}, record ${sequence}, hash ${hash}`,
        );
        const human = result.ok
          ? [`${result.records} records, all in order`, ...newest].join('\n')
          : `NOT in order after ${result.records} records: ${result.fault}`;
        print(tools, json, result.ok ? { ...result, heads } : result, human);
        if (!result.ok) exit(EXIT.failed);
      }),
    );

  audit
    .command('export')
    .description('print every record, one JSON object a line; with --json one array')
    .option('--json', 'print one JSON array')
    .action(({ json }: { json?: boolean }) =>
      withCore(tools, async ({ database }) => {
        let count = 0;
        for await (const link of exportJournal(database)) {
          const text = JSON.stringify(exported(link));
          tools.out(json === true ? `${count === 0 ? '[' : ','}\n${text}` : `${text}\n`);
          count++;
        }
        if (json === true) tools.out(count === 0 ? '[]\n' : '\n]\n');
      }),
    );
}
