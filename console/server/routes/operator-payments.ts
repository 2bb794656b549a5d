import type { ValueOf } from '../../../src/http/fields.ts';
import { formatIso8601 } from '../../../src/kernel/clock.ts';
import { assertDisplayable } from '../../../src/kernel/displayable.ts';
import type { Environment } from '../../../src/kernel/environment.ts';
import { SIMULATOR } from '../../../src/payments/payment-activations.ts';
import { listInDoubtPayments } from '../../../src/payments/payment-queries.ts';
import type { SettingView } from '../../../src/payments/settings.ts';
import { exportUnknownOutcomes } from '../../wire/exports.ts';
import { listActivationRequests } from '../../wire/onboarding.ts';
import { approveActivation, declineActivation, type enablePayments, listProcessors } from '../../wire/operator.ts';
import { loadAccountFigures } from '../account-figures-store.ts';
import { exportList, toExportedPage } from '../list-export.ts';
import { toResultOrApproval } from '../operator-changes.ts';
import { type AnyCall, type Route, route, streamRoute } from '../route.ts';
import { parseSettingInput } from '../user-input.ts';
import { toRequestView } from './onboarding.ts';

type EnableBody = ValueOf<NonNullable<typeof enablePayments.body>>;

export const operatorPaymentRoutes: readonly Route[] = [
  route(listActivationRequests, async ({ services }) => {
    const names = await listAccountNames(services);
    const requests = await services.requests.listAll();
    return {
      requests: requests.map((request) => ({
        account: request.account,
        account_name: names.get(request.account) ?? '',
        request: toRequestView(request),
      })),
    };
  }),

  route(approveActivation, async (call) => {
    const { services, transaction, body } = call;
    const { decision_note: note = '' } = body;
    assertDisplayable(note, 'decision_note');
    const request = await findRequestOfPath(call);
    const { account, environment } = request;
    const attachment = { request: request.id, note };
    return toResultOrApproval(async () => {
      await services.activations.enable(transaction, { account, environment }, parseEnableBody(body), { attachment });
      // After the change, which may have to wait for an approval: then the request stays pending.
      await services.requests.decide(transaction, request, 'approved', note, call);
      return { done: true };
    });
  }),

  route(declineActivation, async (call) => {
    const { decision_note: note } = call.body;
    assertDisplayable(note, 'decision_note');
    await call.services.requests.decide(call.transaction, await findRequestOfPath(call), 'declined', note, call);
    return { done: true };
  }),

  route(listProcessors, async ({ services, now }) => {
    const { processors } = await loadAccountFigures(services.database, services.keyring, now);
    const unknownOutcomes = await listUnknownOutcomes(services);
    return {
      processors: services.activations.processors.map((name) => ({
        name,
        is_simulator: name === SIMULATOR,
        settings: services.activations.listSettings(name).map(toSettingView),
        sandbox_accounts: countAccounts(processors, 'sandbox', name),
        production_accounts: countAccounts(processors, 'production', name),
      })),
      in_doubt: unknownOutcomes.rows,
      has_more_in_doubt: unknownOutcomes.next !== undefined,
    };
  }),

  streamRoute(exportUnknownOutcomes, (call) =>
    exportList(call, {
      name: 'unknown-outcomes',
      access: exportUnknownOutcomes.access,
      scope: 'everything',
      columns: ['account', 'account_name', 'environment', 'id', 'processor', 'operation', 'status', 'since', 'problem'],
      codeFilters: [],
      page: (cursor) => listUnknownOutcomes(call.services, cursor),
    }),
  ),
];

/** Returns a page of the payments with an unknown outcome of all accounts, the oldest first. */
async function listUnknownOutcomes(services: AnyCall['services'], cursor?: string) {
  const names = await listAccountNames(services);
  const page = await listInDoubtPayments(services.database, services.keyring, cursor);
  return toExportedPage(
    page,
    ({ tenant, id, processor, operationId, status, inDoubtSince, lastProblem, createdAt }) => ({
      ...tenant,
      account_name: names.get(tenant.account) ?? '',
      id,
      processor,
      operation: operationId,
      status,
      since: formatIso8601(inDoubtSince ?? createdAt),
      problem: lastProblem ?? null,
    }),
  );
}

const findRequestOfPath = ({ services, params }: AnyCall) =>
  services.requests.getPending(params['id'] ?? '', params['request'] ?? '');

/** Parses the settings of an operator. Throws `invalid_field`. */
export const parseEnableBody = ({ processor, settings = [], force = false }: EnableBody) => ({
  processor,
  force,
  settings: parseSettingInput(settings),
});

export const toSettingView = (setting: SettingView) => ({
  name: setting.name,
  description: setting.description,
  value: setting.value ?? null,
  is_set: setting.isSet,
  default_value: setting.defaultValue ?? null,
  expected: setting.expected,
  is_required: setting.isRequired,
  is_secret: setting.isSecret,
});

/** Returns the names of all accounts by their ids. */
export const listAccountNames = async ({ accounts }: AnyCall['services']): Promise<ReadonlyMap<string, string>> =>
  new Map((await accounts.list()).map(({ id, name }) => [id, name]));

const countAccounts = (processors: ReadonlyMap<string, string>, environment: Environment, name: string): number =>
  [...processors].filter(([place, processor]) => processor === name && place.startsWith(`${environment}/`)).length;
