import type { Command } from 'commander';
import { exportedRecord } from '../audit/exported.ts';
import { digestOfHeads } from '../audit/heads.ts';
import { seenEntries } from '../audit/readers.ts';
import { exportJournal, verifyJournal } from '../audit/verify.ts';
import { commitAll } from '../storage/database.ts';
import type { Head } from '../storage/journal.ts';
import { type Core, type Tools, withCore } from './core.ts';
import { EXIT, operator, print } from './output.ts';

export function auditCommands(program: Command, tools: Tools, exit: (code: number) => void): void {
  const audit = program.command('audit').description('the audit log');

  audit
    .command('verify')
    .description('find any changed, missing or reordered record; exit code 1 when there is one')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: boolean }) =>
      withCore(tools, async ({ database, journalKey }) => {
        const heads: Head[] = [];
        // Read before they are verified: what is printed is no newer than what was found in order.
        const { chains, digest } = await digestOfHeads(database, (head) => {
          if (json === true) heads.push(head);
        });
        const result = await verifyJournal(database, journalKey);
        const human = result.ok
          ? `${counted(result.records, 'record')} in ${counted(chains, 'chain')}, all in order\nheads  SHA-256 ${digest}`
          : `NOT in order after ${counted(result.records, 'record')}: ${result.fault}`;
        print(tools, json, result.ok ? { ...result, chains, digest, heads } : result, human);
        if (!result.ok) exit(EXIT.failed);
      }),
    );

  audit
    .command('export')
    .description('print every record, one JSON object a line; with --json one array')
    .option('--account <id>', "the records of one account alone; '' for those of none")
    .option('--json', 'print one JSON array')
    .action(({ account, json }: { account?: string; json?: boolean }) =>
      withCore(tools, async (core) => {
        await noteExport(core, account);
        const { database } = core;
        let count = 0;
        for await (const link of exportJournal(database, account)) {
          const text = exportedRecord(link);
          tools.out(json === true ? `${count === 0 ? '[' : ','}\n${text}` : `${text}\n`);
          count++;
        }
        if (json === true) tools.out(count === 0 ? '[]\n' : '\n]\n');
      }),
    );
}

/** On record before anything is printed (PCI DSS 10.2.1.3). */
async function noteExport({ database, accounts, clock }: Core, account: string | undefined): Promise<void> {
  if (account !== undefined && account !== '') await accounts.get(account);
  const reader = { origin: operator(), account: '' };
  const journal = seenEntries(clock, 'audit.exported', reader, account === undefined ? 'everything' : { account });
  await commitAll(database, { writes: [], journal });
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;
