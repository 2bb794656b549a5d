import { existsSync, readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { ReceiptStatement } from '../audit/receipt.ts';
import type { ReceiptSubject } from '../captures/deletion-receipts.ts';
import { createIfAbsent } from '../crypto/secret-file.ts';
import { parseIso8601 } from '../kernel/clock.ts';
import type { Environment } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import { asOperator, type CliContext, withCore } from './context.ts';
import { invalidOption, parseEnvironment } from './options.ts';
import { EXIT, formatDetails, printResult, UsageError } from './output.ts';

interface CreateOptions {
  readonly environment: Environment;
  readonly account?: string;
  readonly token?: string;
  readonly capture?: string;
  readonly sadExpiredAt?: number;
  readonly backupDays?: number;
  readonly to?: string;
  readonly json?: boolean;
}

interface CheckOptions {
  readonly key: string;
  readonly record?: string;
  readonly json?: boolean;
}

export function receiptCommands(program: Command, tools: CliContext, exit: (code: number) => void): void {
  const receipt = program.command('receipt').description('issue and check signed receipts of deletions');
  createCommand(receipt, tools);
  checkCommand(receipt, tools, exit);
}

function createCommand(receipt: Command, tools: CliContext): void {
  receipt
    .command('create')
    .description('issue the signed receipt of a deletion that the audit log contains')
    .requiredOption('--environment <environment>', 'sandbox or production', parseEnvironment)
    .option('--account <id>', 'id of the account that owned the token or capture')
    .option('--token <token>', 'deleted token')
    .option('--capture <id>', 'id of the deleted capture')
    .option(
      '--sad-expired-at <time>',
      'time within the hour in which captures expired, for their security codes and track data',
      parseTime,
    )
    .option('--backup-days <days>', 'days for which backups are stored, as the operator states', parseDays)
    .option('--to <file>', 'file that gets the receipt; it must not exist')
    .option('--json', 'print JSON')
    .action((options: CreateOptions) =>
      withCore(tools, async (core) => {
        const { account, environment, backupDays, to, json } = options;
        const subject = parseSubject(options);
        if (subject.kind !== 'sad' && account === undefined) throw new UsageError('--account: required');
        if (account !== undefined) await core.accounts.get(account);
        if (to !== undefined && existsSync(to))
          throw new UsageError(`--to: ${to} exists already; give the name of a new file`);
        const [{ DeletionReceipts }, { formatReceipt }, { listBackups }] = await Promise.all([
          import('../captures/deletion-receipts.ts'),
          import('../audit/receipt.ts'),
          import('../backup/backup-store.ts'),
        ]);
        const receipts = new DeletionReceipts({ ...core, listBackups });
        const tenant = { account: subject.kind === 'sad' ? '' : (account ?? ''), environment };
        const issued = await asOperator(tools, core, (transaction) =>
          receipts.issue(transaction, { tenant, subject, backupDays }),
        );
        const text = formatReceipt(issued);
        if (to !== undefined) createIfAbsent(to, text);
        const result = to === undefined ? text.trimEnd() : `receipt written to ${to}`;
        printResult(tools, json, JSON.parse(text), result);
      }),
    );
}

/** Needs no vault: an outsider runs it with the receipt and the public key alone. */
function checkCommand(receipt: Command, tools: CliContext, exit: (code: number) => void): void {
  receipt
    .command('check <file>')
    .description('check the signature of a receipt with the public key of the vault; needs no vault')
    .requiredOption('--key <file>', 'public keys of the vault, PEM, as audit public-key prints them')
    .option('--record <id>', 'id that the receipt must be about, as token:… or capture:…')
    .option('--json', 'print JSON')
    .action(async (file: string, { key, record, json }: CheckOptions) => {
      const [{ isReceiptOf, openReceipt, parseReceipt }, { parsePublicKeys }] = await Promise.all([
        import('../audit/receipt.ts'),
        import('../audit/check-export.ts'),
      ]);
      const receipt = parseReceipt(readSmallFile(file));
      if (receipt === undefined) throw new UsageError(`${file}: expected a receipt of cardvault`);
      const statement = openReceipt(parsePublicKeys(readSmallFile(key)), receipt);
      const fault =
        typeof statement === 'string'
          ? FAULTS[statement]
          : record !== undefined && !isReceiptOf(statement, record)
            ? 'the receipt is about another record'
            : undefined;
      if (fault !== undefined || typeof statement === 'string') {
        printResult(tools, json, { ok: false, fault }, `NOT valid: ${fault}`);
        exit(EXIT.failed);
        return;
      }
      printResult(tools, json, { ok: true, key_id: receipt.keyId, ...statement }, toText(statement, receipt.keyId));
    });
}

const FAULTS = {
  'unknown-key': 'the file of public keys does not contain the key that signed it',
  invalid: 'the signature does not belong to the content',
} as const;

function parseSubject({ token, capture, sadExpiredAt }: CreateOptions): ReceiptSubject {
  const subjects: ReceiptSubject[] = [
    ...(token === undefined ? [] : [{ kind: 'token', id: token } as const]),
    ...(capture === undefined ? [] : [{ kind: 'capture', id: capture } as const]),
    ...(sadExpiredAt === undefined ? [] : [{ kind: 'sad', expiredAt: sadExpiredAt } as const]),
  ];
  const [subject] = subjects;
  if (subject === undefined || subjects.length > 1)
    throw new UsageError('expected one of --token, --capture and --sad-expired-at');
  return subject;
}

const parseTime = (text: string): number =>
  parseIso8601(text) ?? invalidOption('expected ISO 8601 with a zone, as 2027-01-31T00:00:00Z');

function parseDays(text: string): number {
  const days = /^[0-9]{1,5}$/.test(text) ? Number(text) : Number.NaN;
  return days <= LIMITS.backupDays ? days : invalidOption(`expected days, 0 to ${LIMITS.backupDays}`);
}

function readSmallFile(file: string): string {
  try {
    const bytes = readFileSync(file);
    if (bytes.length > LIMITS.keyFileBytes)
      throw new UsageError(`${file}: a file has at most ${LIMITS.keyFileBytes} bytes`);
    return bytes.toString('utf8');
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${file}: cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

function toText(statement: ReceiptStatement, keyId: string): string {
  const { kind, account, environment, audit, backups_before: before, backups_end: end } = statement;
  const period =
    statement.expired_from === null
      ? []
      : ([['expired', `${statement.expired_from} to ${statement.expired_to}`]] as const);
  const backups =
    before === null
      ? 'contain none of it'
      : `made before ${before} may contain it${end === null ? '' : `; the last one ends ${end}, as the operator stated`}`;
  return [
    'valid: the vault signed this receipt',
    formatDetails([
      ['vault', statement.vault],
      ['signed by', keyId],
      ['kind', kind],
      ['account', account === '' ? 'all' : account],
      ['environment', environment],
      ['record', `SHA-256 ${statement.record}`],
      ['removed', statement.removed.join(', ')],
      ['deleted', statement.deleted_at],
      ...period,
      ['audit record', `lane ${audit.lane}, sequence ${audit.sequence}, SHA-256 ${audit.hash}`],
      ['backups', backups],
      ...(statement.backups_known.length === 0
        ? []
        : ([['known backups', statement.backups_known.join(', ')]] as const)),
      ['issued', statement.issued_at],
    ]),
  ].join('\n');
}
