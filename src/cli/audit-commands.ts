import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import type { RecordedHeadsCheck } from '../audit/recorded-heads.ts';
import type { SignedStatement } from '../audit/statements.ts';
import type { Verification } from '../audit/verify-journal.ts';
import { formatIso8601, parseIso8601 } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { Head } from '../storage/journal.ts';
import { asOperator, type CliContext, type Core, withCore } from './context.ts';
import { EXIT, printResult, UsageError } from './output.ts';

export function auditCommands(program: Command, tools: CliContext, exit: (code: number) => void): void {
  const audit = program.command('audit').description('verify, export and prune the audit log');
  verifyCommand(audit, tools, exit);
  exportCommand(audit, tools);
  checkCommand(audit, tools, exit);
  checkpointCommand(audit, tools);
  publicKeyCommand(audit, tools);
  pruneCommand(audit, tools);
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
      withCore(tools, async (core) => {
        const { database, clock } = core;
        const [{ digestChainHeads }, { describeResumption }, { toVerificationView }, { verifyLog }] = await Promise.all(
          [
            import('../audit/chain-reader.ts'),
            import('../audit/resumption.ts'),
            import('../audit/verify-journal.ts'),
            import('../audit/verify-log.ts'),
          ],
        );
        const time = formatIso8601(clock());
        const heads: Head[] = [];
        // The records are read before they are verified, so that everything printed was verified.
        const { chains, digest } = await digestChainHeads(database, (head) => {
          if (json === true) heads.push(head);
        });
        const { checkpoints, ...verified } = await verifyLog(core);
        const noted = file === undefined || !verified.ok ? undefined : await checkHeadsFile(file, core, verified);
        const result = noted?.fault === undefined ? verified : { ...verified, ok: false, fault: noted.fault };
        const view = toVerificationView(result);
        const lines = result.ok
          ? [
              `${formatCount(result.records, 'record')} in ${formatCount(chains, 'chain')}, all in order`,
              ...(checkpoints === 0 ? [] : [`${formatCount(checkpoints, 'signed checkpoint')} found`]),
              ...(result.resumptions ?? []).map(describeResumption),
              ...(noted === undefined ? [] : describeNoted(noted)),
              `heads  SHA-256 ${digest}`,
            ]
          : [`NOT in order after ${formatCount(result.records, 'record')}: ${result.fault}`];
        const details = { ...(noted !== undefined && { noted }), checkpoints, time, chains, digest, heads };
        printResult(tools, json, result.ok ? { ...view, ...details } : view, lines.join('\n'));
        if (!result.ok) exit(EXIT.failed);
      }),
    );
}

interface ExportOptions {
  readonly account?: string;
  readonly from?: string;
  readonly to?: string;
  readonly json?: boolean;
}

function exportCommand(audit: Command, tools: CliContext): void {
  audit
    .command('export')
    .description('write the log to a file that audit check verifies; without a file print every record as JSON')
    .argument('[file]', 'new file of JSON Lines')
    .option('--account <id>', "account whose records are exported; '' for records without an account")
    .option('--from <time>', 'only records since this time, ISO 8601; needs a file')
    .option('--to <time>', 'only records before this time, ISO 8601; needs a file')
    .option('--json', 'without a file: print one JSON array; with a file: print JSON about it')
    .action((file: string | undefined, options: ExportOptions) =>
      withCore(tools, (core) =>
        file === undefined ? printRecords(tools, core, options) : writeExport(tools, core, file, options),
      ),
    );
}

async function printRecords(tools: CliContext, core: Core, { account, from, to, json }: ExportOptions): Promise<void> {
  if (from !== undefined || to !== undefined) throw new UsageError('--from and --to: name a file as well');
  const [{ formatExportedRecord }, { exportJournal }] = await Promise.all([
    import('../audit/export-format.ts'),
    import('../audit/verify-journal.ts'),
  ]);
  await recordExport(tools, core, account);
  let count = 0;
  for await (const link of exportJournal(core.database, account)) {
    const text = formatExportedRecord(link);
    tools.out(json === true ? `${count === 0 ? '[' : ','}\n${text}` : `${text}\n`);
    count++;
  }
  if (json === true) tools.out(count === 0 ? '[]\n' : '\n]\n');
}

async function writeExport(tools: CliContext, core: Core, file: string, options: ExportOptions): Promise<void> {
  const { account, json } = options;
  const [from, to] = [parseTime(options.from, '--from'), parseTime(options.to, '--to')];
  if (from !== undefined && to !== undefined && from >= to) throw new UsageError('--to: expected a time after --from');
  const [{ assertAbsent }, { exportToFile }] = await Promise.all([
    import('../audit/durable-lines.ts'),
    import('../audit/export-file.ts'),
  ]);
  assertAbsent(file);
  await recordExport(tools, core, account);
  const { records, chains, digest, sha256 } = await exportToFile(core, file, { account, from, to });
  const lines = [
    `wrote ${formatCount(records, 'record')} in ${formatCount(chains, 'chain')} to ${file}`,
    `heads  SHA-256 ${digest}`,
    `file   SHA-256 ${sha256}`,
  ];
  printResult(tools, json, { file, records, chains, digest, sha256 }, lines.join('\n'));
}

function parseTime(text: string | undefined, option: string): number | undefined {
  if (text === undefined) return undefined;
  return parseIso8601(text) ?? usageError(`${option}: expected a date or a time as ISO 8601 with a time zone`);
}

function usageError(message: string): never {
  throw new UsageError(message);
}

interface CheckOptions {
  readonly key: string;
  readonly checkpoints?: string;
  readonly json?: boolean;
}

/** Needs no vault, no configuration and no database. */
function checkCommand(audit: Command, tools: CliContext, exit: (code: number) => void): void {
  audit
    .command('check')
    .description(
      'verify an exported log without the vault; the exit code is 1 if the file is not as the vault signed it',
    )
    .argument('<file>', 'file that audit export or audit prune wrote')
    .requiredOption('--key <file>', 'public keys of the vault, PEM')
    .option('--checkpoints <file>', 'file of checkpoints or heads that were noted elsewhere; the log must contain them')
    .option('--json', 'print JSON')
    .action(async (file: string, { key, checkpoints, json }: CheckOptions) => {
      const [{ checkExport, describeContent, parsePublicKeys }, { readLines }, { readRecordedHeads }] =
        await Promise.all([
          import('../audit/check-export.ts'),
          import('../audit/read-lines.ts'),
          import('../audit/recorded-heads.ts'),
        ]);
      const keys = parsePublicKeys(await readInput('--key', () => readFile(key, 'utf8')));
      const notes = checkpoints === undefined ? undefined : readRecordedHeads(checkpoints, '--checkpoints');
      const check = await readInput(file, () => checkExport(readLines(file), keys, notes));
      const { removed: _, header, ...view } = check;
      const { vault, time, scope, content } = header ?? {};
      const limits = Object.entries(scope ?? {}).map(([name, value]) => `${name} ${value}`);
      const lines = check.ok
        ? [
            `${formatCount(check.records, 'record')} in ${formatCount(check.chains, 'chain')}, complete and in order`,
            `content  ${describeContent(content ?? 'log')}${limits.length === 0 ? '' : `, only ${limits.join(', ')}`}`,
            `vault    ${vault}`,
            `signed   ${time} with the key ${check.keyId}`,
            ...(check.removedBefore === undefined
              ? []
              : [`begins   behind records before ${check.removedBefore}, which the vault removed`]),
            ...(check.noted === undefined
              ? []
              : [`noted    ${check.noted.found} heads found, ${check.noted.elsewhere} that need not be in this file`]),
            `heads    SHA-256 ${check.digest}`,
          ]
        : [`NOT as the vault signed it, line ${check.line}: ${check.fault}`];
      const details = header === undefined ? {} : { vault, time, scope, content };
      printResult(tools, json, { ...view, ...details }, lines.join('\n'));
      if (!check.ok) exit(EXIT.failed);
    });
}

/** Reports an unreadable file by its name and the error code of the system. */
async function readInput<Result>(name: string, read: () => Promise<Result>): Promise<Result> {
  try {
    return await read();
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    throw typeof code === 'string' && typeof syscall === 'string'
      ? new UsageError(`${name} cannot be read: ${code}`)
      : error;
  }
}

function checkpointCommand(audit: Command, tools: CliContext): void {
  audit
    .command('checkpoint')
    .description('print the newest signed checkpoint of the log as one line of JSON; note it elsewhere')
    .option('--new', 'sign one now when the log has grown since')
    .option('--json', 'print JSON')
    .action(({ new: isNew, json }: { new?: boolean; json?: boolean }) =>
      withCore(tools, async (core) => {
        const [{ CheckpointWriter }, { findNewestCheckpoint }, { formatStatementLine }] = await Promise.all([
          import('../audit/checkpoints.ts'),
          import('../audit/checkpoint-store.ts'),
          import('../audit/statements.ts'),
        ]);
        const written: SignedStatement[] = [];
        if (isNew === true) await new CheckpointWriter(core, (checkpoints) => written.push(...checkpoints)).write();
        const newest = await findNewestCheckpoint(core.database);
        if (newest === undefined) throw new UsageError('there is no checkpoint yet; sign one with --new');
        const lines = (written.length > 0 ? written : [newest]).map(formatStatementLine);
        printResult(tools, json, { checkpoints: lines.map((line) => JSON.parse(line)) }, lines.join('\n'));
      }),
    );
}

interface PruneOptions {
  readonly before: string;
  readonly to: string;
  readonly json?: boolean;
}

function pruneCommand(audit: Command, tools: CliContext): void {
  audit
    .command('prune')
    .description('move old records to a file, verify it, and remove them; repeat the command to resume it')
    .requiredOption('--before <time>', 'records before this time, ISO 8601; at least 90 days ago')
    .requiredOption('--to <file>', 'new file of JSON Lines, or the one of an interrupted run')
    .option('--json', 'print JSON')
    .action(({ before, to: file, json }: PruneOptions) =>
      withCore(tools, async (core) => {
        const { assertPrunable, pruneLog } = await import('../audit/pruning.ts');
        const time = parseTime(before, '--before') ?? 0;
        const { auditRetentionMs, auditReceivers } = tools.paths();
        assertPrunable(time, await readTrustedTime(core), auditRetentionMs);
        const receivers = (['syslog', 'otlp'] as const).filter((target) => auditReceivers[target] !== undefined);
        const parts = { ...core, origin: tools.operatorOrigin(), receivers };
        const result = await pruneLog(parts, { before: time, file });
        const { records, chains, sha256, isResumed } = result;
        const lines = [
          `removed ${formatCount(records, 'record')} in ${formatCount(chains, 'chain')}, which ${file} holds`,
          `file  SHA-256 ${sha256}`,
          ...(isResumed ? ['continued an interrupted run'] : []),
        ];
        const view = { file, records, chains, sha256, resumed: isResumed };
        printResult(tools, json, view, lines.join('\n'));
      }),
    );
}

/**
 * Returns the present time, but no later one than the service last trusted or an operator confirmed: a clock that was set
 * ahead must not make records old.
 */
async function readTrustedTime({ clock, clockRecords }: Core): Promise<number> {
  const { trusted, confirmed } = await clockRecords.list();
  const known = [trusted, confirmed].flatMap((record) => (record === undefined ? [] : [record.at]));
  return known.length === 0 ? clock() : Math.min(clock(), Math.max(...known) + LIMITS.clockToleranceMs);
}

async function checkHeadsFile(
  file: string,
  { database, signingKeys }: Core,
  { resumptions = [] }: Verification,
): Promise<RecordedHeadsCheck> {
  const [{ loadBeginnings }, { checkRecordedHeads }, { listPublicKeys }] = await Promise.all([
    import('../audit/beginnings.ts'),
    import('../audit/recorded-heads.ts'),
    import('../audit/statements.ts'),
  ]);
  const beginnings = await loadBeginnings(database, signingKeys);
  const keys = await listPublicKeys(signingKeys);
  return checkRecordedHeads(database, file, resumptions, { keys, ...(beginnings !== 'altered' && { beginnings }) });
}

const describeNoted = ({ found, replaced, removed }: RecordedHeadsCheck): string[] => [
  `${formatCount(found, 'noted head')} found`,
  ...(removed === 0 ? [] : [`${formatCount(removed, 'noted head')} removed by audit prune; check its files`]),
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
