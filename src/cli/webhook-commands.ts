import type { Command } from 'commander';
import { ApprovalRequired } from '../accounts/change-control.ts';
import { formatIso8601, formatIso8601OrNull, parseIso8601 } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { IssuedSecret } from '../webhooks/requested-changes.ts';
import { formatSecret } from '../webhooks/signature.ts';
import { type StoredEndpoint, statusOf } from '../webhooks/webhook.ts';
import { asOperator, type CliContext, withCore } from './context.ts';
import { invalidOption, resolveTenant, type TenantOptions, withTenantOptions } from './options.ts';
import { formatDetails, formatTable, printResult, UsageError } from './output.ts';

interface EndpointOptions extends TenantOptions {
  readonly url?: string;
  readonly event?: string[];
  readonly description?: string;
}

const DEFAULT_OVERLAP_MINUTES = '60';

export function webhookCommands(program: Command, tools: CliContext): void {
  const webhook = program.command('webhook').description('manage where events of an account are sent');
  createCommand(webhook, tools);
  listCommand(webhook, tools);
  updateCommand(webhook, tools);
  rotateCommand(webhook, tools);
  testCommand(webhook, tools);
  replayCommand(webhook, tools);
  deleteCommand(webhook, tools);
}

const collectEvent = (text: string, before: string[] = []): string[] => [...before, text];

function withEndpointOptions(command: Command): Command {
  return withTenantOptions(command)
    .option('--url <url>', 'where events are sent, https')
    .option('--event <type>', 'a type of event, or * for all; may be repeated', collectEvent)
    .option('--description <text>', 'free text');
}

function createCommand(webhook: Command, tools: CliContext): void {
  withEndpointOptions(webhook.command('create').description('create a webhook; its secret is shown once')).action(
    (options: EndpointOptions) =>
      withCore(tools, async (core) => {
        const { url, event: events, description } = options;
        if (url === undefined) throw new UsageError('--url: required');
        if (events === undefined) throw new UsageError('--event: required');
        const tenant = await resolveTenant(core.accounts, options);
        const issued = core.webhooks.issueSecret();
        const { endpoint } = await withSecretOfRequest(tools, options.json, issued, () =>
          asOperator(tools, core, (transaction) =>
            core.webhooks.create(transaction, tenant, { url, events, description }, {}, issued),
          ),
        );
        printWebhook(tools, options.json, { endpoint, last: undefined }, { secret: formatSecret(issued.secret) });
      }),
  );
}

/** A change that awaits approval takes effect with the secret that is printed now: its approver does not see it. */
async function withSecretOfRequest<Result>(
  tools: CliContext,
  json: boolean | undefined,
  { id, secret }: IssuedSecret,
  change: () => Promise<Result>,
): Promise<Result> {
  try {
    return await change();
  } catch (error) {
    if (error instanceof ApprovalRequired) {
      const shown = { id, secret: formatSecret(secret) };
      printResult(tools, json, shown, formatDetails(Object.entries(shown)));
    }
    throw error;
  }
}

function listCommand(webhook: Command, tools: CliContext): void {
  withTenantOptions(webhook.command('list').description('list the webhooks of an account')).action(
    (options: TenantOptions) =>
      withCore(tools, async (core) => {
        const tenant = await resolveTenant(core.accounts, options);
        const views = (await core.webhooks.list(tenant)).map(toView);
        const rows = views.map(({ id, status, url, last_attempt_at: at, last_error: error }) => [
          id,
          status,
          at ?? 'never',
          error ?? '-',
          url,
        ]);
        printResult(tools, options.json, views, formatTable(['ID', 'STATUS', 'LAST ATTEMPT', 'ERROR', 'URL'], rows));
      }),
  );
}

function updateCommand(webhook: Command, tools: CliContext): void {
  withEndpointOptions(webhook.command('update <id>').description('change a webhook; --event replaces its types'))
    .option('--enable', 'send events again')
    .option('--disable', 'send no events')
    .action((id: string, options: EndpointOptions & { enable?: boolean; disable?: boolean }) =>
      withCore(tools, async (core) => {
        const { url, event: events, description, enable, disable } = options;
        if (enable === true && disable === true) throw new UsageError('--enable and --disable: give one of them');
        const status = enable === true ? 'enabled' : disable === true ? 'disabled' : undefined;
        const changes = { url, events, description, status } as const;
        if (Object.values(changes).every((each) => each === undefined))
          throw new UsageError('nothing to change: give at least one option; see: cardvault webhook update --help');
        const tenant = await resolveTenant(core.accounts, options);
        const changed = await asOperator(tools, core, (transaction) =>
          core.webhooks.update(transaction, tenant, id, changes, {}),
        );
        printWebhook(tools, options.json, changed);
      }),
    );
}

function parseOverlapMinutes(text: string): number {
  const minutes = /^[0-9]{1,4}$/.test(text) ? Number(text) : Number.NaN;
  return minutes <= LIMITS.webhookOverlapMinutes
    ? minutes
    : invalidOption(`expected minutes, 0 to ${LIMITS.webhookOverlapMinutes}`);
}

function rotateCommand(webhook: Command, tools: CliContext): void {
  withTenantOptions(webhook.command('rotate <id>').description('replace the secret; the new one is shown once'))
    .option(
      '--overlap <minutes>',
      'how long the old secret signs too',
      parseOverlapMinutes,
      Number(DEFAULT_OVERLAP_MINUTES),
    )
    .action((id: string, options: TenantOptions & { overlap: number }) =>
      withCore(tools, async (core) => {
        const tenant = await resolveTenant(core.accounts, options);
        const { secret } = core.webhooks.issueSecret();
        const rotation = { id, secret, overlapMinutes: options.overlap };
        const { oldSecretUntil } = await withSecretOfRequest(tools, options.json, rotation, () =>
          asOperator(tools, core, (transaction) => core.webhooks.rotate(transaction, tenant, rotation, {})),
        );
        const shown = { id, secret: formatSecret(secret), old_secret_until: formatIso8601(oldSecretUntil) };
        printResult(tools, options.json, shown, formatDetails(Object.entries(shown)));
      }),
    );
}

function testCommand(webhook: Command, tools: CliContext): void {
  withTenantOptions(webhook.command('test <id>').description('send a test event once')).action(
    (id: string, options: TenantOptions) =>
      withCore(tools, async (core) => {
        const tenant = await resolveTenant(core.accounts, options);
        const endpoint = await asOperator(tools, core, (transaction) =>
          core.webhooks.beginTrial(transaction, tenant, id),
        );
        const { statusCode, error, durationMs } = await core.webhooks.sendTrial(tenant, endpoint);
        const shown = {
          delivered: error === undefined,
          status_code: statusCode ?? null,
          error: error ?? null,
          duration_ms: durationMs,
        };
        const lines = Object.entries(shown).map(([name, value]) => [name, String(value ?? '-')] as const);
        printResult(tools, options.json, shown, formatDetails(lines));
      }),
  );
}

function replayCommand(webhook: Command, tools: CliContext): void {
  withTenantOptions(webhook.command('replay <id>').description('send events again'))
    .option('--event-id <id>', 'the event of one delivery')
    .option('--since <time>', 'all deliveries of events since this time that failed, ISO 8601')
    .action((id: string, options: TenantOptions & { eventId?: string; since?: string }) =>
      withCore(tools, async (core) => {
        const { eventId, since } = options;
        if ((eventId === undefined) === (since === undefined))
          throw new UsageError('--event-id and --since: give one of them');
        const time = since === undefined ? undefined : parseIso8601(since);
        if (since !== undefined && time === undefined)
          throw new UsageError('--since: expected ISO 8601 with a zone, as 2027-01-31T00:00:00Z');
        const tenant = await resolveTenant(core.accounts, options);
        const wanted = eventId === undefined ? { since: time ?? 0 } : { eventId };
        const count = await asOperator(tools, core, (transaction) =>
          core.webhooks.replay(transaction, tenant, id, wanted),
        );
        printResult(tools, options.json, { count }, formatDetails([['deliveries', String(count)]]));
      }),
    );
}

function deleteCommand(webhook: Command, tools: CliContext): void {
  withTenantOptions(webhook.command('delete <id>').description('delete a webhook with its deliveries')).action(
    (id: string, options: TenantOptions) =>
      withCore(tools, async (core) => {
        const tenant = await resolveTenant(core.accounts, options);
        await asOperator(tools, core, (transaction) => core.webhooks.delete(transaction, tenant, id));
        printResult(tools, options.json, { id, deleted: true }, `deleted ${id}`);
      }),
  );
}

const toView = ({ endpoint, last }: StoredEndpoint) => ({
  id: endpoint.id,
  url: endpoint.url,
  events: endpoint.events,
  description: endpoint.description ?? null,
  status: statusOf(endpoint),
  disabled_reason: endpoint.disabledReason ?? null,
  created_at: formatIso8601(endpoint.createdAt),
  last_attempt_at: formatIso8601OrNull(last?.at),
  last_status_code: last?.statusCode ?? null,
  last_error: last?.error ?? null,
});

function printWebhook(
  tools: CliContext,
  json: boolean | undefined,
  stored: StoredEndpoint,
  more: Readonly<Record<string, string>> = {},
): void {
  const shown = { ...toView(stored), ...more };
  const lines = Object.entries(shown).map(
    ([name, value]) => [name, Array.isArray(value) ? value.join(', ') : String(value ?? '-')] as const,
  );
  printResult(tools, json, shown, formatDetails(lines));
}
