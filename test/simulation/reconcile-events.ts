import type { Tenant } from '../../src/kernel/environment.ts';
import type { Operation, Payment } from '../../src/payments/payment.ts';
import type { LoadedPayment } from '../../src/payments/payment-store.ts';
import type { Status } from '../../src/payments/transitions.ts';
import { type Database, integer, type Row, text } from '../../src/storage/database.ts';
import { findEvent } from '../../src/webhooks/webhook-store.ts';
import type { Machine } from './machine.ts';
import { DELAYS, RECEIVERS, type Receiver, type Receivers } from './receivers.ts';

/** Compares the events with the payments, and what receivers got with the events, when nothing waits for the reachable ones. */
interface EndState {
  readonly desk: Machine;
  readonly receivers: Receivers;
  readonly database: Database;
  readonly tenant: Tenant;
}

/** Receivers that get everything in the end. */
export const REACHABLE: readonly Receiver[] = ['steady', 'flaky'];

/** Written by the contract, apart from the code of the service. */
const TYPE_OF_STATUS: Readonly<Record<Status, string | undefined>> = {
  Opened: undefined,
  Authorized: 'payment.authorized',
  Collected: 'payment.collected',
  Declined: 'payment.declined',
  ProcessorError: 'payment.failed',
  Cancelled: 'payment.cancelled',
  Voided: 'payment.voided',
};
const STATUS_TYPES = Object.values(TYPE_OF_STATUS).filter((type) => type !== undefined);

interface Event {
  readonly id: string;
  readonly type: string;
  readonly body: string;
  /** The payment and its operation; undefined for an event about something else. */
  readonly payment: string | undefined;
  readonly operation: string | undefined;
}

/** One line for each thing that must not be. */
export async function reconcileEvents(endState: EndState): Promise<string[]> {
  const { desk, receivers, database, tenant } = endState;
  const events = await loadEvents(endState);
  const faults = [...receivers.faults];
  const payments = new Set<string>();
  for (const row of await database.read('select id from payments order by id')) {
    const id = text(row, 'id');
    payments.add(id);
    const loaded = (await desk.repository.load(tenant, id)) as LoadedPayment;
    const operations = await desk.repository.listOperations(loaded);
    faults.push(...missingEvents(loaded.payment, operations, events));
  }
  for (const { id, type, payment } of events)
    if (payment !== undefined && !payments.has(payment)) faults.push(`${id} ${type} is about no payment`);
  for (const row of await database.read('select endpoint, event, status, attempts from webhook_deliveries'))
    faults.push(...wrongDeliveries(row, receivers));
  for (const receiver of RECEIVERS) faults.push(...wrongReceipts(receiver, events, receivers));
  return faults;
}

async function loadEvents({ desk, database, tenant }: EndState): Promise<Event[]> {
  const rows = await database.read('select id from webhook_events order by id');
  const events = rows.map(async (row): Promise<Event> => {
    const id = text(row, 'id');
    const event = await findEvent(database, desk.keyring, tenant, id);
    const body = event?.body.toString('utf8') ?? '{}';
    const { type, data } = JSON.parse(body);
    const { payment_id: payment, transaction_id: operation } = data?.transaction_info ?? {};
    return { id, type, body, payment, operation };
  });
  return Promise.all(events);
}

/** A payment has one event for each status that it got, for each refund, and for each time that its outcome was unknown. */
function missingEvents(payment: Payment, operations: readonly Operation[], events: readonly Event[]): string[] {
  const { id, status } = payment;
  const own = events.filter((event) => event.payment === id);
  const types = own.map(({ type }) => type);
  const count = (wanted: string): number => types.filter((type) => type === wanted).length;
  const faults: string[] = [];
  const last = TYPE_OF_STATUS[status];
  if (last !== undefined && count(last) !== 1) faults.push(`${id} is ${status}, and ${count(last)} events say so`);
  for (const type of STATUS_TYPES) if (count(type) > 1) faults.push(`${id} has ${count(type)} events ${type}`);
  for (const refund of operations.filter(({ type }) => type === 'payment_refund')) {
    const reported = own.filter(({ type, operation }) => type === 'payment.refunded' && operation === refund.id).length;
    // One that the processor accepted and did not carry out has failed, as one that it has never accepted.
    const allowed = refund.state === 'accepted' ? [1] : refund.failure !== undefined ? [0, 1] : [0];
    if (!allowed.includes(reported))
      faults.push(`${refund.id} is ${refund.state}, and ${reported} events say it refunded`);
  }
  if (count('payment.in_doubt') !== count('payment.resolved'))
    faults.push(`${id} was in doubt ${count('payment.in_doubt')} times, resolved ${count('payment.resolved')} times`);
  return faults;
}

function wrongDeliveries(row: Row, receivers: Receivers): string[] {
  const receiver = RECEIVERS.find((each) => text(row, 'endpoint') === `wh_${each}`);
  const [event, status, attempts] = [text(row, 'event'), text(row, 'status'), integer(row, 'attempts')];
  if (receiver === undefined) return [`${event} is for no receiver`];
  const name = `${event} for ${receiver}`;
  if (status === 'delivered' && !receivers.of(receiver).has(event)) return [`${name} is delivered and did not arrive`];
  if (!REACHABLE.includes(receiver) || status === 'delivered') return [];
  return status === 'failed' && attempts > DELAYS.length ? [] : [`${name} is ${status} after ${attempts} attempts`];
}

function wrongReceipts(receiver: Receiver, events: readonly Event[], receivers: Receivers): string[] {
  const received = receivers.of(receiver);
  const known = new Map(events.map(({ id, body }) => [id, body]));
  const faults: string[] = [];
  for (const [id, { body }] of received)
    if (known.get(id) !== body) faults.push(`${receiver} got ${id}, which did not happen in this way`);
  if (receiver === 'steady')
    for (const { id, type } of events) if (!received.has(id)) faults.push(`${receiver} never got ${id} ${type}`);
  return faults;
}
