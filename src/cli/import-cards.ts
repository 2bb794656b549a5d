import { existsSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { type Identities, readIdentities } from '../crypto/age-file.ts';
import { fingerprint } from '../crypto/fingerprint.ts';
import { DATA_KEY_BYTES } from '../crypto/keyring.ts';
import { formatIso8601, SECOND } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import { findFault } from '../transfer/card-check.ts';
import { CardImport, deleteProgress, type ImportJob, type LineCounts } from '../transfer/card-import.ts';
import { CardSource } from '../transfer/card-source.ts';
import { type ExportHeader, newExportCounts } from '../transfer/export-format.ts';
import { type ImportFile, inspectFile, readContent, STANDARD_INPUT_FILE } from '../transfer/import-file.ts';
import { findImport, finishImport, insertImport, listBatches } from '../transfer/import-store.ts';
import { formatMapping, formatReject, MAPPING_HEAD, REJECTS_HEAD } from '../transfer/line-results.ts';
import { listCounts } from '../transfer/list-counts.ts';
import { OutputFile } from '../transfer/output-file.ts';
import { createPace } from '../transfer/pace.ts';
import { TransferError } from '../transfer/transfer-error.ts';
import type { Scheme } from '../vault/scheme.ts';
import { asOperator, type CliContext, type Core } from './context.ts';
import { resolveTenant, type TenantOptions } from './options.ts';
import { EXIT, formatDetails, formatTable, printResult, UsageError } from './output.ts';

export interface ImportOptions extends TenantOptions {
  readonly identity?: string;
  readonly sha256?: string;
  readonly scheme: Scheme;
  readonly persistent?: boolean;
  readonly bin: 6 | 8;
  readonly createdBy: string;
  readonly mapping?: string;
  readonly rejects?: string;
  readonly check?: boolean;
  readonly resume?: boolean;
  readonly name?: string;
  readonly rate?: number;
}

const STANDARD_INPUT = '-';
const PROGRESS_INTERVAL_MS = 5 * SECOND;
/** Rejected lines that a check prints. */
const SHOWN_REJECTS = 100;
const CLEAR_TEXT =
  'The file holds card numbers in clear: delete it and its copies, and encrypt the next one, see docs/guides/import.md';

/** One run of the command. */
interface ImportRun {
  readonly tools: CliContext;
  readonly core: Core;
  readonly tenant: Tenant;
  readonly options: ImportOptions;
  readonly file: ImportFile;
  readonly source: CardSource;
  /** Keyed digest that identifies the import. */
  readonly id: Uint8Array;
}

export async function importFile(
  tools: CliContext,
  core: Core,
  path: string,
  options: ImportOptions,
  exit: (code: number) => void,
): Promise<void> {
  const tenant = await resolveTenant(core.accounts, options);
  assertOptions(path, options);
  const file = path === STANDARD_INPUT ? STANDARD_INPUT_FILE : await inspectFile(path);
  if (options.sha256 !== undefined && file.sha256 !== options.sha256)
    throw new UsageError('--sha256: the file has another checksum; nothing was imported');
  const identities = options.identity === undefined ? undefined : await readIdentities(options.identity);
  const id = await identifyImport(core, tenant, file, options);
  const source = await openSource(core, tenant, file, identities, { options, id });
  const run: ImportRun = { tools, core, tenant, options, file, source, id };
  try {
    const isClean = options.check === true ? await checkLines(run) : await importLines(run, path);
    if (!isClean) exit(EXIT.failed);
  } finally {
    await source.close();
  }
}

function assertOptions(path: string, { name, sha256, check, mapping, rejects }: ImportOptions): void {
  const isStream = path === STANDARD_INPUT;
  if (isStream && name === undefined && check !== true)
    throw new UsageError('--name: standard input needs a name, by which an interrupted import is resumed');
  if (!isStream && name !== undefined)
    throw new UsageError('--name: only for standard input; a file is known by its content');
  if (isStream && sha256 !== undefined) throw new UsageError('--sha256: only for a file');
  if (isStream && check !== true && (mapping === undefined || rejects === undefined))
    throw new UsageError('standard input needs --mapping and --rejects');
}

/** A file is known by its content. The digest is keyed, because a file of few cards could be found by trying them. */
async function identifyImport(
  { keyring }: Core,
  tenant: Tenant,
  { sha256 }: ImportFile,
  { name = '' }: ImportOptions,
): Promise<Uint8Array> {
  const key = await keyring.digestKey({ ...tenant, purpose: 'imports' });
  return fingerprint(key, sha256 === undefined ? `import name:${name}` : `import file:${sha256}`);
}

async function openSource(
  { keyring, clock }: Core,
  tenant: Tenant,
  file: ImportFile,
  identities: Identities | undefined,
  { options, id }: { options: ImportOptions; id: Uint8Array },
): Promise<CardSource> {
  const creator = { id: `import:${toHex(id)}`, name: options.createdBy };
  const defaults = { ...options, isPersistent: options.persistent === true, creator, now: clock() };
  // Lines of standard input cannot be compared with those of an earlier run otherwise.
  const digestKey = file.sha256 === undefined ? await keyring.digestKey({ ...tenant, purpose: 'imports' }) : undefined;
  return CardSource.open(readContent(file, identities), { defaults, digestKey });
}

const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** Returns whether every line may be imported, as far as that is known without the vault. */
async function checkLines({ tools, core, options, source }: ImportRun): Promise<boolean> {
  const rejects = options.rejects === undefined ? undefined : await createOutput(core, options.rejects);
  const shown: (readonly [string, string, string])[] = [];
  let lines = 0;
  let rejected = 0;
  try {
    await rejects?.write(REJECTS_HEAD);
    for await (const batch of source.batches(LIMITS.cardsPerImportBatch))
      for (const line of batch.lines) {
        lines++;
        const fault = findFault(line);
        if (fault === undefined) continue;
        rejected++;
        if (shown.length < SHOWN_REJECTS) shown.push([String(line.number), fault.field, fault.code]);
        await rejects?.write(formatReject(line, fault));
      }
    await rejects?.finish();
  } finally {
    await rejects?.discard();
  }
  const document = {
    format: source.format,
    lines,
    rejected,
    rejects: shown.map(([line, field, code]) => ({ line: Number(line), field, code })),
  };
  const text = [
    ...(shown.length === 0 ? [] : [formatTable(['LINE', 'FIELD', 'CODE'], shown), '']),
    `${lines} cards checked, ${rejected} would be rejected; nothing was changed`,
  ].join('\n');
  printResult(tools, options.json, document, text);
  return rejected === 0;
}

async function importLines(run: ImportRun, path: string): Promise<boolean> {
  const { core, tenant, options, source } = run;
  const { mapping = `${path}.mapping.csv`, rejects = `${path}.rejects.csv` } = options;
  for (const each of [mapping, rejects])
    if (existsSync(each)) throw new UsageError(`${each} exists already; move it, or give another name`);
  const found = await findUnfinished(run);
  const half = await adoptHalf(core, tenant, source.header);
  const outputs = { mapping: await createOutput(core, mapping), rejects: await createOutput(core, rejects) };
  try {
    await outputs.mapping.write(MAPPING_HEAD);
    await outputs.rejects.write(REJECTS_HEAD);
    await recordBegin(run, found !== undefined, half);
    const job = createJob(run, outputs, found?.batchCards ?? LIMITS.cardsPerImportBatch);
    const cards = await CardImport.open(core, job);
    const startedAt = core.time.steadyNow();
    const batches = await cards.run().catch(async (error: unknown) => {
      await recordEnd(run, 'failed', cards.counts);
      throw error;
    });
    const milliseconds = core.time.steadyNow() - startedAt;
    const [mappingSha256, rejectsSha256] = [await outputs.mapping.finish(), await outputs.rejects.finish()];
    await recordEnd(run, 'success', cards.counts);
    await deleteProgress(core, job, batches);
    const files = { mapping, mapping_sha256: mappingSha256, rejects, rejects_sha256: rejectsSha256 };
    printImport(run, { counts: cards.counts, milliseconds, isResumed: found !== undefined, half, files });
    return cards.counts.rejected + cards.counts.conflict === 0;
  } finally {
    await outputs.mapping.discard();
    await outputs.rejects.discard();
  }
}

const createOutput = ({ random }: Core, path: string): Promise<OutputFile> => OutputFile.create(path, random);

/** Returns the import that is resumed. Throws `UsageError` for one that is finished, and for one that was begun without `--resume`. */
async function findUnfinished({ core, tenant, id, options, tools }: ImportRun) {
  const found = await findImport(core.database, tenant, id);
  if (found?.finishedAt !== undefined) {
    const left = await listBatches(core.database, tenant, id);
    if (left.size > 0)
      await deleteProgress(core, { tenant, id, origin: tools.operatorOrigin() }, Math.max(...left) + 1);
    throw new UsageError(`this import was finished at ${formatIso8601(found.finishedAt)}; nothing was changed`);
  }
  if (found !== undefined && options.resume !== true)
    throw new UsageError(
      `this import was begun at ${formatIso8601(found.startedAt)}; repeat the command with --resume to continue it`,
    );
  return found;
}

/** How the values of scheme 8 that this account issues were chosen. */
type IssuableHalf = 'adopted' | 'own' | undefined;

/**
 * Takes over from an export which values of scheme 8 are issued, so that all its tokens may exist here. That is possible
 * until the account has used a key of its own for it.
 */
async function adoptHalf({ keyring }: Core, tenant: Tenant, header: ExportHeader | undefined): Promise<IssuableHalf> {
  if (header === undefined) return undefined;
  const material = Buffer.from(String(header.issuable_half_key), 'base64');
  if (material.length !== DATA_KEY_BYTES) throw new TransferError('the header of the export is malformed');
  const isAdopted = await keyring.adoptDigestKey({ ...tenant, purpose: 'token-halves' }, material);
  material.fill(0);
  return isAdopted ? 'adopted' : 'own';
}

function createJob(
  { tools, core, tenant, id, source, options }: ImportRun,
  outputs: { readonly mapping: OutputFile; readonly rejects: OutputFile },
  batchCards: number,
): ImportJob {
  const steadyNow = (): number => core.time.steadyNow();
  const pace = options.rate === undefined ? () => Promise.resolve() : createPace(options.rate, steadyNow, wait);
  let cards = 0;
  let next = steadyNow() + PROGRESS_INTERVAL_MS;
  const report = (): void => {
    cards++;
    if (options.json === true || cards % LIMITS.cardsPerImportBatch > 0 || steadyNow() < next) return;
    next = steadyNow() + PROGRESS_INTERVAL_MS;
    tools.err(`${cards} cards\n`);
  };
  return {
    ...{ tenant, id, source, batchCards, pace, origin: tools.operatorOrigin() },
    onResult: async (line, result) => {
      report();
      await outputs.mapping.write(formatMapping(line, result));
      if (result.status === 'rejected') await outputs.rejects.write(formatReject(line, result));
    },
  };
}

/** The import exists together with its audit record, before the first card is written. */
const recordBegin = ({ tools, core, tenant, id, source }: ImportRun, isResumed: boolean, half: IssuableHalf) =>
  asOperator(tools, core, async (transaction) => {
    const row = { id, batchCards: LIMITS.cardsPerImportBatch, startedAt: transaction.now, finishedAt: undefined };
    if (!isResumed) transaction.write(insertImport(tenant, row), new TransferError('another process runs this import'));
    const detail = { format: source.format, resumed: isResumed ? 'yes' : 'no', ...(half !== undefined && { half }) };
    transaction.record({
      action: 'cards.imported',
      outcome: 'success',
      ...tenant,
      targets: [`import:${toHex(id)}`],
      detail,
    });
  });

const recordEnd = ({ tools, core, tenant, id }: ImportRun, outcome: 'success' | 'failed', counts: LineCounts) =>
  asOperator(tools, core, async (transaction) => {
    if (outcome === 'success')
      transaction.write(
        finishImport(tenant, id, transaction.now),
        new TransferError('another process runs this import'),
      );
    const targets = [`import:${toHex(id)}`];
    transaction.record({
      action: 'cards.import-ended',
      outcome,
      ...tenant,
      targets,
      detail: { counts: listCounts(counts) },
    });
  });

interface FinishedImport {
  readonly counts: LineCounts;
  readonly milliseconds: number;
  readonly isResumed: boolean;
  readonly half: IssuableHalf;
  readonly files: Readonly<Record<'mapping' | 'mapping_sha256' | 'rejects' | 'rejects_sha256', string>>;
}

function printImport(
  { tools, options, file, source, id }: ImportRun,
  { counts, milliseconds, ...rest }: FinishedImport,
): void {
  const { isResumed, half, files } = rest;
  const lines = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const perSecond = Math.round(lines / Math.max(milliseconds / SECOND, 0.001));
  const { capture, payment, audit, unreadable } = source.counts ?? newExportCounts();
  const others = { capture, payment, audit };
  const document = {
    ...{ import: toHex(id), format: source.format, lines, ...counts, others, unreadable },
    ...{ ...files, resumed: isResumed, half: half ?? null, milliseconds, cards_per_second: perSecond },
  };
  const text = [
    formatDetails([
      ['lines', String(lines)],
      ...Object.entries(counts).map(([status, count]) => [status, String(count)] as const),
      ...Object.entries(files),
    ]),
    `${lines} lines in ${(milliseconds / SECOND).toFixed(1)} s, ${perSecond} a second`,
    ...Object.entries(others).flatMap(([kind, count]) =>
      count === 0 ? [] : [`${count} records of kind ${kind} are not imported`],
    ),
    ...(unreadable === 0 ? [] : [`${unreadable} records could not be read when the export was written`]),
    ...(half === 'own' ? [OWN_HALF] : []),
    ...(file.path !== undefined && !file.isEncrypted ? [CLEAR_TEXT] : []),
  ];
  printResult(tools, options.json, document, text.join('\n'));
}

const OWN_HALF =
  'The account had issued tokens before: tokens of scheme 8 that it never issues itself were rejected (token_unavailable)';
