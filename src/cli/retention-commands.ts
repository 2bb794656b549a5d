import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Command } from 'commander';
import { syncDirectory } from '../crypto/secret-file.ts';
import { formatIso8601, formatIso8601OrNull } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import { OperatorError } from '../kernel/operator-error.ts';
import type { DueToken, RetentionState, TokenRetention } from '../vault/token-retention.ts';
import { asOperator, type CliContext, withCore } from './context.ts';
import { invalidOption, resolveTenant, type TenantOptions, withTenantOptions } from './options.ts';
import { formatDetails, printResult, UsageError } from './output.ts';

const USER_ONLY_FILE = 0o600;
const LINES_PER_WRITE = 1000;

export function retentionCommands(program: Command, tools: CliContext): void {
  const retention = program.command('retention').description('manage the rules by which unused tokens are deleted');
  setCommand(retention, tools);
  removeCommand(retention, tools);
  showCommand(retention, tools);
  reportCommand(retention, tools);
}

function setCommand(retention: Command, tools: CliContext): void {
  withTenantOptions(retention.command('set').description('delete tokens that were not used for a number of days'))
    .requiredOption('--unused-days <days>', 'days without use after which a token is deleted', parseDays)
    .action((options: TenantOptions & { unusedDays: number }) =>
      withCore(tools, async (core) => {
        const tenant = await resolveTenant(core.accounts, options);
        const { unusedDays } = options;
        await asOperator(tools, core, (transaction) => core.retention.set(transaction, tenant, { unusedDays }));
        await printState(tools, options.json, core.retention, tenant);
      }),
    );
}

function removeCommand(retention: Command, tools: CliContext): void {
  withTenantOptions(retention.command('remove').description('end the rule; no token is deleted any more')).action(
    (options: TenantOptions) =>
      withCore(tools, async (core) => {
        const tenant = await resolveTenant(core.accounts, options);
        await asOperator(tools, core, (transaction) => core.retention.set(transaction, tenant, {}));
        await printState(tools, options.json, core.retention, tenant);
      }),
  );
}

function showCommand(retention: Command, tools: CliContext): void {
  withTenantOptions(retention.command('show').description('show the rule, and the deletion that is announced')).action(
    (options: TenantOptions) =>
      withCore(tools, async (core) => {
        const tenant = await resolveTenant(core.accounts, options);
        await printState(tools, options.json, core.retention, tenant);
      }),
  );
}

function reportCommand(retention: Command, tools: CliContext): void {
  withTenantOptions(retention.command('report').description('count and list the tokens that the rule concerns now'))
    .option('--to <file>', 'file that gets a line of CSV for each token, with the truncated card; it must not exist')
    .action((options: TenantOptions & { to?: string }) =>
      withCore(tools, async (core) => {
        const tenant = await resolveTenant(core.accounts, options);
        const { to, json } = options;
        if (to !== undefined && existsSync(to))
          throw new UsageError(`--to: ${to} exists already; give the name of a new file`);
        const state = await core.retention.find(tenant);
        const cutoff = announcedCutoff(state) ?? state?.cutoff ?? 0;
        const due = core.retention.listDue(tenant, cutoff);
        const tokens = to === undefined ? await countAll(due) : await writeReport(to, due);
        const view = { ...toView(state), unused_since: cutoff === 0 ? null : formatIso8601(cutoff), tokens };
        const lines = [
          toText(state),
          `${tokens} tokens are concerned`,
          ...(to === undefined ? [] : [`listed in ${to}`]),
        ];
        printResult(tools, json, { ...view, ...(to !== undefined && { file: to }) }, lines.join('\n'));
      }),
    );
}

/** A report during an announcement lists what will be deleted. */
const announcedCutoff = (state: RetentionState | undefined): number | undefined => state?.rule?.announcement?.cutoff;

function parseDays(text: string): number {
  const { min, max } = LIMITS.unusedDays;
  const days = /^[0-9]{1,5}$/.test(text) ? Number(text) : Number.NaN;
  return days >= min && days <= max ? days : invalidOption(`expected days, ${min} to ${max}`);
}

async function printState(
  tools: CliContext,
  json: boolean | undefined,
  retention: TokenRetention,
  tenant: Tenant,
): Promise<void> {
  const state = await retention.find(tenant);
  printResult(tools, json, toView(state), toText(state));
}

const toView = (state: RetentionState | undefined) => ({
  unused_days: state?.rule?.unusedDays ?? null,
  altered: state !== undefined && state.rule === undefined,
  uses_recorded_since: formatIso8601OrNull(state?.rule?.since),
  announced_at: formatIso8601OrNull(state?.rule?.announcement?.at),
  announced_tokens: state?.rule?.announcement?.count ?? null,
  deletes_from: formatIso8601OrNull(state?.rule?.announcement?.actsAt),
});

function toText(state: RetentionState | undefined): string {
  if (state === undefined) return 'no rule: tokens are kept until they are deleted';
  const { rule } = state;
  if (rule === undefined) return 'altered: the rule was changed in the database and deletes nothing; set it again';
  const { announcement } = rule;
  return formatDetails([
    ['unused days', String(rule.unusedDays)],
    ['uses recorded since', formatIso8601(rule.since)],
    ...(announcement === undefined
      ? ([['announced', 'none']] as const)
      : ([
          ['announced', `${announcement.count}${announcement.isMore ? ' or more' : ''} tokens`],
          ['deletes from', formatIso8601(announcement.actsAt)],
        ] as const)),
  ]);
}

async function countAll(due: AsyncIterable<DueToken>): Promise<number> {
  let count = 0;
  for await (const _ of due) count++;
  return count;
}

/** Writes the file under another name and renames it when it is complete; returns the number of tokens. */
async function writeReport(file: string, due: AsyncIterable<DueToken>): Promise<number> {
  const draft = `${file}.new`;
  try {
    const handle = openSync(draft, 'wx', USER_ONLY_FILE);
    let count = 0;
    try {
      let lines = 'card,token,created,last_used\n';
      for await (const { card, token, createdAt, lastUsedAt } of due) {
        lines += `${card},${token},${formatIso8601(createdAt)},${lastUsedAt === undefined ? '' : formatIso8601(lastUsedAt).slice(0, 10)}\n`;
        if (++count % LINES_PER_WRITE > 0) continue;
        writeSync(handle, lines);
        lines = '';
      }
      writeSync(handle, lines);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    renameSync(draft, file);
    syncDirectory(dirname(file));
    return count;
  } catch (cause) {
    const { code, syscall } = cause as NodeJS.ErrnoException;
    if (code !== 'EEXIST') rmSync(draft, { force: true });
    if (syscall === undefined) throw cause;
    throw new OperatorError(`${file} cannot be written (${code}): its folder must exist, be writable and have room`);
  }
}
