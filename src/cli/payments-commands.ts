import { type Command, Option } from 'commander';
import { formatIso8601, formatIso8601OrNull } from '../kernel/clock.ts';
import { formatNumber } from '../kernel/money.ts';
import type { ActivationView } from '../payments/payment-activations.ts';
import type { InDoubtPayment } from '../payments/payment-queries.ts';
import type { ManualOutcome } from '../payments/unknown-outcomes.ts';
import { asOperator, type CliContext, withCore } from './context.ts';
import {
  collectSetting,
  invalidOption,
  resolveSettings,
  resolveTenant,
  type TenantOptions,
  withTenantOptions,
} from './options.ts';
import { formatDetails, formatTable, printResult } from './output.ts';

interface EnableOptions extends TenantOptions {
  readonly processor?: string;
  readonly setting?: Readonly<Record<string, string>>;
  readonly force?: boolean;
}

export function paymentsCommands(program: Command, tools: CliContext): void {
  const payments = program.command('payments').description('manage payments of an account and its processor');
  enableCommand(payments, tools);
  withTenantOptions(
    payments.command('disable').description('reject new payments; operations in progress are completed'),
  ).action((options: TenantOptions) =>
    withCore(tools, async (core) => {
      const { accounts, activations } = core;
      const tenant = await resolveTenant(accounts, options);
      await asOperator(tools, core, (transaction) => activations.disable(transaction, tenant));
      printActivation(tools, options, await activations.show(tenant));
    }),
  );
  withTenantOptions(
    payments.command('show').description('show the processor and its settings, without secrets'),
  ).action((options: TenantOptions) =>
    withCore(tools, async ({ accounts, activations }) => {
      const tenant = await resolveTenant(accounts, options);
      printActivation(tools, options, await activations.show(tenant));
    }),
  );
  inDoubtCommand(payments, tools);
  resolveCommand(payments, tools);
}

function enableCommand(payments: Command, tools: CliContext): void {
  withTenantOptions(payments.command('enable').description('enable payments with a processor, or change its settings'))
    .option('--processor <name>', 'name of the processor: simulator (default in the sandbox), cybersource or koin')
    .option(
      '--setting <name=value>',
      'setting of the processor; may be repeated; NAME= removes it, NAME=@FILE reads its value from a file, as a secret requires',
      collectSetting,
    )
    .option('--force', 'allow the simulator in production (it moves no money)')
    .action((options: EnableOptions) =>
      withCore(tools, async (core) => {
        const { accounts, activations } = core;
        const tenant = await resolveTenant(accounts, options);
        const { processor, setting = {}, force = false } = options;
        // The settings of all processors count, because the command may name none.
        const table = activations.processors.flatMap((name) => activations.listSettings(name));
        const settings = resolveSettings(setting, table);
        const request = { processor, settings, force };
        await asOperator(tools, core, (transaction) => activations.enable(transaction, tenant, request));
        printActivation(tools, options, await activations.show(tenant));
      }),
    );
}

const ALTERED =
  'yes: this was changed in the database, so no payment is taken; run: cardvault payments enable, with the processor and all settings';

function printActivation(
  tools: CliContext,
  options: TenantOptions,
  { enabled, processor, settings, isAltered }: ActivationView,
): void {
  const { account, environment, json } = options;
  const shown = { account, environment, enabled, processor: processor ?? null, altered: isAltered, settings };
  const lines = [['payments', enabled ? 'enabled' : 'disabled'] as const, ['processor', processor ?? 'none'] as const];
  const altered = isAltered ? [['altered', ALTERED] as const] : [];
  printResult(tools, json, shown, formatDetails([...lines, ...altered, ...Object.entries(settings)]));
}

function inDoubtCommand(payments: Command, tools: CliContext): void {
  payments
    .command('doubtful')
    .description('list payments with an unknown outcome, oldest first')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: boolean }) =>
      withCore(tools, async ({ database, keyring }) => {
        const { listInDoubtPayments } = await import('../payments/payment-queries.ts');
        const inDoubt: ReturnType<typeof toInDoubtView>[] = [];
        for (let cursor: string | undefined; ; ) {
          const page = await listInDoubtPayments(database, keyring, cursor);
          inDoubt.push(...page.items.map(toInDoubtView));
          cursor = page.cursor;
          if (cursor === undefined) break;
        }
        const table = formatTable(IN_DOUBT_COLUMNS, inDoubt.map(toInDoubtRow));
        printResult(tools, json, inDoubt, inDoubt.length === 0 ? 'no payment has an unknown outcome' : table);
      }),
    );
}

const toInDoubtView = ({ tenant, payment, attempts, dueAt, lastProblem, ...columns }: InDoubtPayment) => ({
  ...tenant,
  payment_id: columns.id,
  transaction_id: columns.operationId,
  processor: columns.processor,
  status: columns.status,
  amount: payment === undefined ? null : formatNumber({ minor: payment.amount, currency: payment.currency }),
  currency: payment?.currency ?? null,
  created_at: formatIso8601(columns.createdAt),
  doubtful_since: formatIso8601OrNull(columns.inDoubtSince),
  attempts,
  next_attempt_at: formatIso8601OrNull(dueAt),
  problem: lastProblem ?? null,
});

const IN_DOUBT_COLUMNS = [
  'ACCOUNT',
  'ENVIRONMENT',
  'PAYMENT',
  'TRANSACTION',
  'PROCESSOR',
  'AMOUNT',
  'SINCE',
  'ATTEMPTS',
  'NEXT',
  'PROBLEM',
];

const toInDoubtRow = (view: ReturnType<typeof toInDoubtView>): string[] => [
  view.account,
  view.environment,
  view.payment_id,
  view.transaction_id,
  view.processor,
  view.amount === null ? 'cannot be unsealed' : `${view.amount} ${view.currency}`,
  view.doubtful_since ?? '-',
  String(view.attempts),
  view.next_attempt_at ?? '-',
  view.problem ?? '-',
];

const MISSING_OUTCOME = "error: required option '--outcome <outcome>' not specified";

interface ResolveOptions extends TenantOptions {
  readonly transaction: string;
  readonly outcome?: ManualOutcome;
  readonly as?: ManualOutcome;
  readonly reason?: string;
}

function resolveCommand(payments: Command, tools: CliContext): void {
  withTenantOptions(
    payments
      .command('resolve')
      .alias('settle')
      .description("set the outcome of a transaction manually, after checking it in the processor's console"),
  )
    .requiredOption('--transaction <id>', 'id of the transaction with an unknown outcome')
    .option(
      '--outcome <outcome>',
      'accepted, when the processor carried it out; refused, when it has no record of it',
      parseOutcome,
    )
    .option('--reason <text>', 'what the processor shows; recorded in the audit log and in the history of the payment')
    .addOption(new Option('--as <outcome>', 'the former name of --outcome').argParser(parseOutcome).hideHelp())
    .action((options: ResolveOptions, command: Command) => {
      const outcome = options.outcome ?? options.as ?? command.error(MISSING_OUTCOME);
      return withCore(tools, async (core) => {
        const { accounts, transactions } = core;
        const [{ IdempotencyKeys }, { UnknownOutcomes }, { PaymentRepository }, { paymentEvents }] = await Promise.all([
          import('../idempotency/idempotency-keys.ts'),
          import('../payments/unknown-outcomes.ts'),
          import('../payments/payment-repository.ts'),
          import('../http/webhook-events.ts'),
        ]);
        const tenant = await resolveTenant(accounts, options);
        const onChange = paymentEvents(core.outbox);
        const repository = new PaymentRepository({ ...core, onOutcome: () => undefined, onChange });
        const idempotency = new IdempotencyKeys(core);
        const unknownOutcomes = new UnknownOutcomes({ ...core, repository, idempotency });
        const { transaction: transactionId, reason = '' } = options;
        const context = { origin: tools.operatorOrigin(), account: tenant.account };
        const { payment, operation } = await transactions.run(context, (transaction) =>
          unknownOutcomes.resolve(transaction, tenant, { transactionId, outcome, reason }),
        );
        const shown = {
          ...tenant,
          payment_id: payment.id,
          transaction_id: operation.id,
          operation: operation.type,
          operation_state: operation.state,
          status: payment.status,
        };
        printResult(tools, options.json, shown, formatDetails(Object.entries(shown)));
      });
    });
}

const MANUAL_OUTCOMES: readonly ManualOutcome[] = ['accepted', 'refused'];

const parseOutcome = (text: string): ManualOutcome =>
  MANUAL_OUTCOMES.find((each) => each === text) ?? invalidOption(`expected ${MANUAL_OUTCOMES.join(' or ')}`);
