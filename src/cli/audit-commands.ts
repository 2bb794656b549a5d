import type { Command } from 'commander';
import type { RecordedHeadsCheck } from '../audit/recorded-heads.ts';
import type { Verification } from '../audit/verify-journal.ts';
import { formatIso8601 } from '../kernel/clock.ts';
import type { Database } from '../storage/database.ts';
import type { Head } from '../storage/journal.ts';
import { asOperator, type CliContext, type Core, withCore } from './context.ts';
import { EXIT, printResult } from './output.ts';

export function auditCommands(program: Command, tools: CliContext, exit: (code: number) => void): void {
  const audit = program.command('audit').description('verify and export the audit log');
  verifyCommand(audit, tools, exit);
  exportCommand(audit, tools);
  publicKeyCommand(audit, tools);
}

function publicKeyCommand(audit: Command, tools: CliContext): void {
  audit
    .command('public-key')
    .description('print the public keys that verify what the vault signs, oldest first, as PEM')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: boolean }) =>
      withCore(tools, async ({ signingKeys }) => {
        const keys = (await signingKeys.list()).map(({ keyId, version, publicKey, createdAt }) => ({
          key_id: keyId,
          version,
          created_at: formatIso8601(createdAt),
          pem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
        }));
        printResult(tools, json, keys, keys.map(({ pem }) => pem.trimEnd()).join('\n'));
      }),
    );
}

function verifyCommand(audit: Command, tools: CliContext, exit: (code: number) => void): void {
  audit
    .command('verify')
    .description('find changed, missing and reordered records; the exit code is 1 if there is one')
    .option('--heads <file>', 'file of noted heads; the log must contain them')
    .option('--json', 'print JSON')
    .action(({ json, heads: file }: { json?: boolean; heads?: string }) =>
      withCore(tools, async ({ database, journalKey, clock }) => {
        const [{ digestChainHeads }, { describeResumption }, { toVerificationView, verifyJournal }] = await Promise.all(
          [import('../audit/chain-reader.ts'), import('../audit/resumption.ts'), import('../audit/verify-journal.ts')],
        );
        const time = formatIso8601(clock());
        const heads: Head[] = [];
        // The records are read before they are verified, so that everything printed was verified.
        const { chains, digest } = await digestChainHeads(database, (head) => {
          if (json === true) heads.push(head);
        });
        const verified = await verifyJournal(database, journalKey);
        const noted = file === undefined || !verified.ok ? undefined : await checkHeadsFile(file, database, verified);
        const result = noted?.fault === undefined ? verified : { ...verified, ok: false, fault: noted.fault };
        const view = toVerificationView(result);
        const lines = result.ok
          ? [
              `${formatCount(result.records, 'record')} in ${formatCount(chains, 'chain')}, all in order`,
              ...(result.resumptions ?? []).map(describeResumption),
              ...(noted === undefined ? [] : describeNoted(noted)),
              `heads  SHA-256 ${digest}`,
            ]
          : [`NOT in order after ${formatCount(result.records, 'record')}: ${result.fault}`];
        const details = { ...(noted !== undefined && { noted }), time, chains, digest, heads };
        printResult(tools, json, result.ok ? { ...view, ...details } : view, lines.join('\n'));
        if (!result.ok) exit(EXIT.failed);
      }),
    );
}

function exportCommand(audit: Command, tools: CliContext): void {
  audit
    .command('export')
    .description('print every record as one JSON object per line; with --json as one array')
    .option('--account <id>', "account whose records are printed; '' for records without an account")
    .option('--json', 'print one JSON array')
    .action(({ account, json }: { account?: string; json?: boolean }) =>
      withCore(tools, async (core) => {
        const [{ formatExportedRecord }, { exportJournal }] = await Promise.all([
          import('../audit/export-format.ts'),
          import('../audit/verify-journal.ts'),
        ]);
        await recordExport(tools, core, account);
        const { database } = core;
        let count = 0;
        for await (const link of exportJournal(database, account)) {
          const text = formatExportedRecord(link);
          tools.out(json === true ? `${count === 0 ? '[' : ','}\n${text}` : `${text}\n`);
          count++;
        }
        if (json === true) tools.out(count === 0 ? '[]\n' : '\n]\n');
      }),
    );
}

async function checkHeadsFile(
  file: string,
  database: Database,
  { resumptions = [] }: Verification,
): Promise<RecordedHeadsCheck> {
  const { checkRecordedHeads } = await import('../audit/recorded-heads.ts');
  return checkRecordedHeads(database, file, resumptions);
}

const describeNoted = ({ found, replaced }: RecordedHeadsCheck): string[] => [
  `${formatCount(found, 'noted head')} found`,
  ...(replaced === 0
    ? []
    : [`${formatCount(replaced, 'noted head')} replaced by a restore or copy above; ask whether it was ordered`]),
];

/** Recorded before anything is printed (PCI DSS 10.2.1.3). */
async function recordExport(tools: CliContext, core: Core, account: string | undefined): Promise<void> {
  if (account !== undefined && account !== '') await core.accounts.get(account);
  const { accessEvents } = await import('../audit/access-recorder.ts');
  const scope = account === undefined ? 'everything' : { account };
  await asOperator(tools, core, async (transaction) => {
    for (const event of accessEvents('audit.exported', '', scope)) transaction.record(event);
  });
}

const formatCount = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;
