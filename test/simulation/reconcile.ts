import type { Tenant } from '../../src/kernel/environment.ts';
import type { Operation, Payment, Reconciliation } from '../../src/payments/payment.ts';
import type { LoadedPayment } from '../../src/payments/payment-store.ts';
import type { Status } from '../../src/payments/transitions.ts';
import { type Database, text } from '../../src/storage/database.ts';
import { findTotalsFaults } from '../fixtures/payment-totals.ts';
import type { Backend, BackendState } from './backend.ts';
import { type Clients, jsonOf, type Request } from './clients.ts';
import type { Machine, SimulatedResponse } from './machine.ts';

/** Compares the records at the end: ours, the processor's and the responses that clients got must agree. */
interface EndState {
  readonly desk: Machine;
  readonly clients: Clients;
  readonly backend: Backend;
  readonly database: Database;
  readonly tenant: Tenant;
  /** Whatever can expire has. */
  readonly isOver: boolean;
}

interface Known {
  readonly payment: Payment;
  readonly reconciliation: Reconciliation;
  readonly operations: readonly Operation[];
  readonly processorState: BackendState | undefined;
}

/** One line for each thing that must not be; the first word is the payment or request. */
export async function reconcile(endState: EndState): Promise<string[]> {
  const states = await endState.backend.states(endState.database);
  const known = new Map<string, Known>();
  for (const row of await endState.database.read('select id from payments order by id')) {
    const id = text(row, 'id');
    const loaded = (await endState.desk.repository.load(endState.tenant, id)) as LoadedPayment;
    const { payment, reconciliation } = loaded;
    const operations = await endState.desk.repository.listOperations(loaded);
    known.set(id, { payment, reconciliation, operations, processorState: states.get(id) });
  }
  const faults = [...endState.backend.violations()];
  for (const key of states.keys()) if (!known.has(key)) faults.push(`${key} is known to the processor only`);
  for (const each of known.values()) faults.push(...disagreements(each, endState.isOver));
  for (const request of endState.clients.requests) faults.push(...brokenPromises(request, known));
  faults.push(
    ...(await findTotalsFaults(
      endState.database,
      [...known.values()].map(({ payment }) => payment),
    )),
  );
  if (endState.isOver) faults.push(...(await keptSecrets(endState, known)));
  return faults;
}

/** The allowed statuses of a payment here for each state at the processor. */
const FITTING: Readonly<Record<BackendState['state'] | 'captured' | 'none', readonly Status[]>> = {
  none: ['ProcessorError', 'Declined', 'Cancelled'],
  pending: ['Opened'],
  approved: ['Authorized'],
  captured: ['Collected'],
  refused: ['Declined', 'ProcessorError', 'Cancelled'],
  reversed: ['Voided', 'Cancelled', 'ProcessorError'],
};

function disagreements({ payment, reconciliation, processorState, operations }: Known, isOver: boolean): string[] {
  const { id, status, operationInProgress: operation, authorized, collected, refunded } = payment;
  const faults: string[] = [];
  if (operation !== undefined) faults.push(`${id} waits for ${operation}`);
  for (const each of operations)
    if (each.state === 'in_progress' && each.id !== operation) faults.push(`${id} has forgotten ${each.id}`);
  if (reconciliation.inDoubtSince !== undefined) faults.push(`${id} is in doubt`);
  if (reconciliation.recheckIds.length > 0 && isOver) faults.push(`${id} is still watched`);
  const isHeld = processorState?.state === 'approved';
  const state =
    processorState === undefined ? 'none' : isHeld && processorState.captured > 0n ? 'captured' : processorState.state;
  const ours = `${status} ${authorized} ${collected} ${refunded}`;
  const theirs = `${state} ${processorState?.amount} ${processorState?.captured} ${processorState?.refunded}`;
  const mayBeIgnorant =
    processorState?.isSecret === true && (status === 'Authorized' || status === 'Opened') && !isOver;
  if (!FITTING[state].includes(status) && !mayBeIgnorant) faults.push(`${id} is ${ours}, there ${theirs}`);
  if (isOver && (state === 'approved' || state === 'pending')) faults.push(`${id} is held for ever: ${theirs}`);
  if (state === 'captured' && (processorState?.captured !== collected || processorState.refunded !== refunded))
    faults.push(`${id} is ${ours}, there ${theirs}`);
  if (refunded > collected || collected > payment.amount) faults.push(`${id} gives back too much: ${ours}`);
  if (status === 'Voided' && !operations.some(endsIt)) faults.push(`${id} is Voidedwithout a request`);
  return faults;
}

/** A void, an expiry, or a capture that was reversed together with its authorization. */
const endsIt = ({ type, state }: Operation): boolean =>
  type === 'authorization_void' || type === 'expiry' || (type === 'capture' && state === 'refused');

/** Statuses that a payment with this one can have later. */
const LATER: Readonly<Record<Status, readonly Status[]>> = {
  Opened: ['Opened', 'Authorized', 'Collected', 'Cancelled', 'Voided', 'Declined', 'ProcessorError'],
  Authorized: ['Authorized', 'Collected', 'Voided', 'Declined'],
  Collected: ['Collected'],
  Cancelled: ['Cancelled'],
  Voided: ['Voided'],
  Declined: ['Declined'],
  ProcessorError: ['ProcessorError'],
};

/** Answers that are not true any more, and requests that did more than one thing. */
function brokenPromises(request: Request, known: ReadonlyMap<string, Known>): string[] {
  const { planned, reference, responses, sent } = request;
  const faults: string[] = [];
  const created = [...known.values()].flatMap(({ operations }) =>
    operations.filter((each) => each.referenceCode === reference && each.type !== 'expiry' && !isOwn(each, planned)),
  );
  if (created.length > 1)
    faults.push(`${reference} made ${created.map(({ id }) => id).join(' and ')}, sent ${sent} times`);
  for (const response of responses) {
    if (response.status >= 500 && response.status !== 503)
      faults.push(`${reference} was answered ${response.status}: ${(response.cause as Error | undefined)?.stack}`);
    if (response.status === 200 && planned.endpoint !== 'show') faults.push(...broken(reference, response, known));
  }
  const replay = responses.filter(({ status, replayed }) => status === 200 && replayed).at(-1);
  const first = responses.find(({ status }) => status === 200);
  const wasTakenBack = created.some(isTakenBack);
  if (
    !wasTakenBack &&
    planned.key !== undefined &&
    replay !== undefined &&
    first !== undefined &&
    isFinal(first) &&
    lasting(replay) !== lasting(first)
  )
    faults.push(`${reference} was answered ${first.text}, then ${replay.text}`);
  return faults;
}

/** An answer without the processor's code, which is a later one when the payment failed late. */
const lasting = ({ text }: SimulatedResponse): string => text.replace(/"response_code":"[0-9]+",?/, '');

/** A capture that a payment waited for has the reference of its payment. */
const isOwn = ({ type }: Operation, { endpoint }: Request['planned']): boolean =>
  endpoint === 'create' && type === 'capture';

function isFinal(response: SimulatedResponse): boolean {
  const { status, message, data } = jsonOf(response);
  return (
    message !== 'Outcome unknown, being resolved' &&
    !(status === 'success' && data.transaction_info.status === 'Opened')
  );
}

function broken(reference: string, response: SimulatedResponse, known: ReadonlyMap<string, Known>): string[] {
  const { status: code, message, data } = jsonOf(response);
  const { payment_id: id, transaction_id: operation, status, type } = data.transaction_info;
  const at = known.get(id);
  const found = at?.operations.find((each) => each.id === operation);
  if (at === undefined || found === undefined) return [`${reference} was reported ${operation}, which does not exist`];
  const faults: string[] = [];
  if (!LATER[status as Status].includes(at.payment.status))
    faults.push(`${id} was reported as ${status} to ${reference} and is ${at.payment.status}`);
  if (code === 'success' && isFinal(response) && found.state !== 'accepted' && !isTakenBack(found))
    faults.push(`${id}: ${reference} got “${message}” about ${type}, which is ${found.state}`);
  return faults;
}

/** A refund that the processor took at first, and did not carry out. */
const isTakenBack = ({ type, failure: failed }: Operation): boolean =>
  type === 'payment_refund' && failed !== undefined;

const ANSWERED: readonly Status[] = ['Authorized', 'Collected', 'Declined', 'Voided', 'Cancelled'];

/** Sensitive authentication data does not outlive the answer (PCI DSS 3.3.1). */
async function keptSecrets({ clients, database }: EndState, known: ReadonlyMap<string, Known>): Promise<string[]> {
  const faults: string[] = [];
  for (const { reference, capture } of clients.requests) {
    const paid = [...known.values()].find(({ operations }) => operations[0]?.referenceCode === reference);
    if (capture === undefined || paid === undefined || !ANSWERED.includes(paid.payment.status)) continue;
    const [row] = await database.read('select sad from captures where id = ?', capture);
    // One whose ttl has ended is gone, where it is swept.
    if (row !== undefined && row['sad'] !== null)
      faults.push(`${paid.payment.id} left the security code of ${capture}`);
  }
  return faults;
}
