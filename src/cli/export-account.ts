import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { ApprovalRequired, type RestrictedChange, toSummaryLines } from '../accounts/change-control.ts';
import { countActiveCaptures } from '../captures/capture-store.ts';
import { parseRecipients, type Recipients, type WrittenAgeFile, writeAgeFile } from '../crypto/age-file.ts';
import { formatIso8601 } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { countPayments } from '../payments/payment-queries.ts';
import { AccountExport } from '../transfer/account-export.ts';
import { EXPORT_FORMAT, EXPORT_VERSION, type ExportCounts, type ExportHeader } from '../transfer/export-format.ts';
import { listCounts } from '../transfer/list-counts.ts';
import { createPace } from '../transfer/pace.ts';
import { fingerprintRecipients } from '../transfer/recipients.ts';
import { identifyVault } from '../transfer/vault-id.ts';
import { countTokens } from '../vault/token-queries.ts';
import { VERSION } from '../version.ts';
import { asOperator, type CliContext, type Core } from './context.ts';
import { resolveTenant, type TenantOptions } from './options.ts';
import { EXIT, formatDetails, printResult, UsageError } from './output.ts';

export interface ExportOptions extends TenantOptions {
  readonly recipient: readonly string[];
  readonly output: string;
  readonly rate: number;
}

const EXECUTE_AGAIN =
  'A member of the account approves it in the console within 24 hours; then run the same command again.';

/** Exports an account. In production a member of the account has to approve it for these recipients before. */
export async function exportAccount(
  tools: CliContext,
  core: Core,
  options: ExportOptions,
  exit: (code: number) => void,
): Promise<void> {
  const tenant = await resolveTenant(core.accounts, options);
  const recipients = parseRecipients(options.recipient, '--recipient');
  if (existsSync(options.output)) throw new UsageError(`--output: ${options.output} exists already`);
  const approval = await permitExport(tools, core, tenant, recipients);
  const until = core.clock();
  const header = await buildHeader(core, tenant, recipients, until);
  const pace = createPace(options.rate, () => core.time.steadyNow(), wait);
  const content = new AccountExport(core, { tenant, header, until, pace });
  const record = createRecorder(tools, core, tenant, approval);
  await record('account.exported', 'success', {
    recipients: fingerprintRecipients(recipients),
    what: basename(options.output),
  });
  let written: WrittenAgeFile;
  try {
    written = await writeAgeFile({ path: options.output, recipients, content: content.content() });
  } catch (error) {
    await record('account.export-ended', 'failed', { counts: listCounts(content.counts) });
    throw error;
  }
  const outcome = content.counts.unreadable > 0 ? 'partial' : 'success';
  await record('account.export-ended', outcome, { counts: listCounts(content.counts), sha256: written.sha256 });
  printExport(tools, options, content.counts, written);
  if (content.counts.unreadable > 0) exit(EXIT.failed);
}

/** Returns the approval; undefined in the sandbox, which needs none. Throws `ApprovalRequired` until there is one. */
async function permitExport(
  tools: CliContext,
  core: Core,
  tenant: Tenant,
  recipients: Recipients,
): Promise<string | undefined> {
  if (tenant.environment !== 'production') return undefined;
  const summary = toSummaryLines([
    ['content', 'tokens with card numbers, captures, payments, audit log'],
    ['recipients', recipients.join(' ')],
    ['fingerprint', fingerprintRecipients(recipients)],
  ]);
  const change: RestrictedChange = { action: 'account.export', summary, body: '{}' };
  const request = await core.changeControl.findOperatorRequest(tenant, change);
  if (request?.isApproved === true) return request.id;
  if (request !== undefined) throw new ApprovalRequired(request.id, EXECUTE_AGAIN);
  try {
    await asOperator(tools, core, (transaction) => core.changeControl.permit(transaction, tenant, change, {}));
  } catch (error) {
    throw error instanceof ApprovalRequired ? new ApprovalRequired(error.approval, EXECUTE_AGAIN) : error;
  }
  throw new Error('an export in production was permitted without an approval');
}

async function buildHeader(
  { database, keyring, accounts }: Core,
  tenant: Tenant,
  recipients: Recipients,
  until: number,
): Promise<ExportHeader> {
  const { id, name } = await accounts.get(tenant.account);
  const [vault, token, capture, payment, half] = await Promise.all([
    identifyVault(database),
    countTokens(database, tenant),
    countActiveCaptures(database, tenant, until),
    countPayments(database, tenant),
    keyring.digestKey({ ...tenant, purpose: 'token-halves' }),
  ]);
  const material = half.export();
  const halfKey = material.toString('base64');
  material.fill(0);
  return {
    kind: 'header',
    format: EXPORT_FORMAT,
    version: EXPORT_VERSION,
    software: VERSION,
    vault,
    account: { id, name },
    environment: tenant.environment,
    created_at: formatIso8601(until),
    recipients,
    expected: { token, capture, payment },
    issuable_half_key: halfKey,
  };
}

type Detail = Readonly<Record<string, string | readonly string[]>>;

const createRecorder =
  (tools: CliContext, core: Core, tenant: Tenant, approval: string | undefined) =>
  (action: 'account.exported' | 'account.export-ended', outcome: string, detail: Detail): Promise<void> =>
    asOperator(tools, core, async (transaction) => {
      const targets = [`account:${tenant.account}`, ...(approval === undefined ? [] : [`approval:${approval}`])];
      transaction.record({ action, outcome, ...tenant, targets, detail });
    });

function printExport(
  tools: CliContext,
  { output, json }: ExportOptions,
  { unreadable, ...counts }: ExportCounts,
  { bytes, sha256 }: WrittenAgeFile,
): void {
  const lines = [
    formatDetails([
      ...Object.entries(counts).map(([kind, count]) => [kind, String(count)] as const),
      ['file', output],
      ['bytes', String(bytes)],
      ['sha256', sha256],
    ]),
    ...(unreadable === 0
      ? []
      : [`NOT exported: ${unreadable} records that were changed in the database; the file names them`]),
  ];
  printResult(tools, json, { file: output, bytes, sha256, counts: { ...counts, unreadable } }, lines.join('\n'));
}
