import { setTimeout as wait } from 'node:timers/promises';
import { count, eachOf } from './check-records.ts';
import type { Row } from './database-cluster.ts';
import { nameOf, type Payment, type PlannedRequest, type Request } from './ledger.ts';
import { infoOf, isFinal, PAYMENTS } from './payment-requests.ts';
import type { Testbed } from './testbed.ts';

/** Compares the records at the end: ours, the simulator's and the responses that clients got must agree. */

const KINDS: readonly Payment[] = ['authorization', 'payment', 'capture', 'payment_refund', 'authorization_void'];
const UNDER_WAY = 'payments where operation_in_progress is not null or in_doubt_since is not null';
const POLL_INTERVAL_MS = 250;

/** Time in which recovery resolves every payment. */
export async function checkPaymentsComplete(testbed: Testbed, withinMs: number): Promise<void> {
  const until = Date.now() + withinMs;
  while ((await count(testbed, UNDER_WAY)) > 0) {
    if (Date.now() > until) {
      const open = await testbed.query(`select id from ${UNDER_WAY} order by id limit 20`);
      testbed.ledger.found(`still in progress after ${withinMs} ms: ${open.map(({ id }) => id).join(', ')}`);
      return;
    }
    await wait(POLL_INTERVAL_MS);
  }
}

/** A lookup of one transaction. */
interface PaymentView {
  readonly id: string;
  // biome-ignore lint/suspicious/noExplicitAny: an answer's data
  readonly data: any;
}

async function lookUp(
  { ledger, retryingClient, nodes, seeded }: Testbed,
  id: string,
): Promise<PaymentView | undefined> {
  const path = `${PAYMENTS}/transactions/${id}`;
  const planned: PlannedRequest = { kind: 'look up', method: 'GET', path, target: id, fault: () => undefined };
  const request = ledger.enter(planned);
  await retryingClient.attempt(request, seeded.pick(nodes));
  return request.response && { id, data: request.response.json.data };
}

export async function checkPaymentsAgree(testbed: Testbed): Promise<void> {
  const { ledger } = testbed;
  const rows = await testbed.query('select id from payments union all select id from payment_operations');
  const views = new Map<string, PaymentView>();
  await eachOf(rows, async ({ id }) => {
    const view = await lookUp(testbed, String(id));
    if (view !== undefined) views.set(view.id, view);
  });
  const requests = new Map(ledger.of(...KINDS).map((request) => [request.planned.reference ?? '', request]));
  operationsAreUnique(testbed, views, requests);
  for (const request of ledger.acknowledged(...KINDS)) {
    const fault = falsehood(request, views);
    if (fault !== undefined) ledger.found(`${nameOf(request)}: ${fault}`);
  }
  await recordsAgree(testbed, views);
  await totalsAgree(testbed, views);
}

/** Checks that every request made one operation, and a rejected one none. */
function operationsAreUnique(
  { ledger }: Testbed,
  views: ReadonlyMap<string, PaymentView>,
  requests: ReadonlyMap<string, Request>,
): void {
  const created = new Map<string, string>();
  for (const { id, data } of views.values()) {
    const { reference_code: reference, operation } = data.transaction_info;
    const request = requests.get(reference);
    if (operation === 'expiry') continue;
    if (request === undefined) ledger.found(`no client requested transaction ${id}`);
    else if (created.has(reference)) ledger.found(`${nameOf(request)} made ${created.get(reference)} and ${id}`);
    else if (request.isRefused && request.response === undefined)
      ledger.found(`${nameOf(request)} was refused and made ${id}`);
    created.set(reference, id);
  }
}

/** Describes a response that does not agree with the records. */
function falsehood({ response }: Request, views: ReadonlyMap<string, PaymentView>): string | undefined {
  if (response === undefined) return undefined;
  const { transaction_id: id, status: reportedStatus } = infoOf(response);
  const view = views.get(id);
  if (view === undefined) return `transaction ${id} was acknowledged and is gone`;
  const { status, operation_status: ended } = view.data.transaction_info;
  if (ended === 'in_progress') return `transaction ${id} has not ended`;
  const expected = response.json.status === 'success' ? 'succeeded' : 'failed';
  if (isFinal(response) && ended !== expected)
    return `transaction ${id} was reported with ${expected} and has ${ended}`;
  const isSettled = ['Collected', 'Voided', 'Declined', 'Cancelled'].includes(reportedStatus);
  const isLater = reportedStatus === 'Authorized' && ['Authorized', 'Collected', 'Voided'].includes(status);
  if (isSettled ? status !== reportedStatus : reportedStatus === 'Authorized' && !isLater)
    return `payment of ${id} was reported as ${reportedStatus} and is ${status}`;
  return undefined;
}

/** The simulator's records, as they are in the database. */
async function recordsAgree(testbed: Testbed, views: ReadonlyMap<string, PaymentView>): Promise<void> {
  const { ledger } = testbed;
  const processorState = new Map(
    (await testbed.query('select * from simulator_payments')).map((row) => [String(row['operation_ref']), row]),
  );
  const movements = await testbed.query('select * from simulator_modifications');
  const payments = new Set((await testbed.query('select id from payments')).map(({ id }) => String(id)));
  for (const id of payments) {
    const view = views.get(id);
    if (view === undefined) {
      ledger.found(`payment ${id} cannot be looked up`);
      continue;
    }
    const { authorized_amount, collected_amount, refunded_amount } = view.data.order_info.amount_details;
    const ours = [view.data.transaction_info.status, authorized_amount, collected_amount, refunded_amount].join(' ');
    const theirs = standing(processorState.get(id));
    if (!theirs.includes(ours)) ledger.found(`payment ${id} is ${ours}, and with the processor ${theirs[0]}`);
  }
  for (const id of processorState.keys())
    if (!payments.has(id)) ledger.found(`payment ${id} is known to the processor only`);
  for (const [id, row] of processorState) {
    const fault = miscount(
      row,
      movements.filter(({ payment, outcome }) => payment === id && outcome === 'approved'),
    );
    if (fault !== undefined) ledger.found(`payment ${id}: ${fault}`);
  }
  for (const { operation_ref } of movements)
    if (!views.has(String(operation_ref))) ledger.found(`transaction ${operation_ref} is known to the processor only`);
}

/** Totals change in the unit of their payment, so nothing that was killed or disconnected makes them differ. */
async function totalsAgree(testbed: Testbed, views: ReadonlyMap<string, PaymentView>): Promise<void> {
  const cents = (units: unknown): number => Math.round(Number(units ?? 0) * 100);
  const sums = new Map<string, readonly number[]>();
  for (const { id } of await testbed.query('select id from payments')) {
    const view = views.get(String(id));
    if (view === undefined || view.data.transaction_info.status === 'Opened') continue;
    const { collected_amount, refunded_amount } = view.data.order_info.amount_details;
    const { status } = view.data.transaction_info;
    const [number = 0, collected = 0, refunded = 0] = sums.get(status) ?? [];
    sums.set(status, [number + 1, collected + cents(collected_amount), refunded + cents(refunded_amount)]);
  }
  const columns = ['number', 'collected_low', 'refunded_low'];
  const rows = await testbed.query(
    `select status, ${columns.map((name) => `sum(${name}) as ${name}`).join(', ')} from payment_totals group by status`,
  );
  const toText = (status: unknown, numbers: readonly number[]): string => `${status} ${numbers.join(' ')}`;
  const stored = rows
    .map((row) =>
      toText(
        row['status'],
        columns.map((name) => Number(row[name])),
      ),
    )
    .filter((line) => !line.endsWith(' 0 0 0'));
  const expected = [...sums].map(([status, numbers]) => toText(status, numbers));
  if (stored.sort().join() !== expected.sort().join())
    testbed.ledger.found(`totals are ${stored.join('; ')}, of the payments ${expected.join('; ')}`);
}

/** The allowed states of a payment here: status, and the amounts that were authorized, captured and refunded. */
function standing(row: Row | undefined): readonly string[] {
  const units = (minor: unknown): string => String(Number(minor) / 100);
  if (row === undefined || row['outcome'] === 'closed') return ['ProcessorError 0 0 0'];
  if (row['outcome'] === 'refused') return ['Declined 0 0 0'];
  // True for a payment that was voided, or reversed before a client learned of it.
  if (Number(row['reversed']) === 1)
    return [`Voided ${units(row['amount'])} 0 0`, 'ProcessorError 0 0 0', 'Cancelled 0 0 0'];
  const captured = row['captured'] ?? (Number(row['sale']) === 1 ? row['amount'] : null);
  if (captured === null) return [`Authorized ${units(row['amount'])} 0 0`];
  return [`Collected ${units(row['amount'])} ${units(captured)} ${units(row['refunded'])}`];
}

/** True when the sum of the operations equals the amounts of the payment. */
function miscount(row: Row, booked: readonly Row[]): string | undefined {
  const sum = (type: string): number =>
    booked.filter((each) => each['type'] === type).reduce((total, each) => total + Number(each['amount']), 0);
  const captures = booked.filter(({ type }) => type === 'capture');
  if (captures.length > 1) return `captured ${captures.map(({ operation_ref }) => operation_ref).join(' and ')}`;
  if (captures.length === 1 && Number(row['captured']) !== sum('capture'))
    return 'captured another amount than is booked';
  if (Number(row['refunded']) !== sum('refund')) return `refunded ${row['refunded']}, booked ${sum('refund')}`;
  return undefined;
}
