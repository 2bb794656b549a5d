import { useState } from 'react';
import { LIMITS } from '../../../../../src/kernel/limits.ts';
import { listPayments } from '../../../../wire/payments.ts';
import { listCaptures, listTokens } from '../../../../wire/records.ts';
import { type HASH_TYPES, OPERATIONS, type Operation, runInWorkbench } from '../../../../wire/workbench.ts';
import { useChange, useRead } from '../../api/hooks.ts';
import { useTenant } from '../../session/tenant.ts';
import { containsCardOfPerson } from './card-numbers.ts';
import {
  buildExample,
  type ExampleName,
  findPathRecord,
  type Group,
  OPERATION_GROUPS,
  type Records,
} from './examples.ts';
import type { ComposedRequest } from './workbench-run.ts';

export type HashType = (typeof HASH_TYPES)[number];

/** Returns the newest records of the account for the examples. */
export function useRecords() {
  const { account } = useTenant();
  const params = { account, environment: 'sandbox' };
  const tokens = useRead(listTokens, { params, body: {} });
  const captures = useRead(listCaptures, { params, body: {} });
  const payments = useRead(listPayments, { params, body: {} });
  const token = tokens.data?.tokens.find(({ is_altered }) => !is_altered)?.token;
  const capture = captures.data?.captures.find(({ card }) => card !== null)?.id;
  const payment = payments.data?.payments.find(({ is_altered }) => !is_altered)?.id;
  return { token, capture, payment, areLoaded: ![tokens, captures, payments].some(({ isPending }) => isPending) };
}

type FoundRecords = ReturnType<typeof useRecords>;

interface Choice {
  readonly group: Group;
  readonly operation: Operation;
  readonly example: ExampleName;
}

const FIRST: Choice = { group: 'tokens', operation: 'tokenizeCards', example: 'purchase' };

/** Returns what the user chose and typed, and the last run. */
export function useWorkbench(found: FoundRecords) {
  const { account } = useTenant();
  const [choice, setChoice] = useState(FIRST);
  const [hashType, setHashType] = useState<HashType>('SHA256');
  /** Undefined while the example is unchanged. */
  const [typed, setTyped] = useState<Pick<ComposedRequest, 'parameter' | 'payload'>>();
  const [fault, setFault] = useState<'empty' | 'tooLong' | 'parameterMissing' | 'card'>();
  /** The user confirmed that the card numbers of the request are no person's. */
  const [isTestCard, setTestCard] = useState(false);
  const change = useChange(runInWorkbench);
  const { token = 'TOKEN', capture = 'CAPTURE', payment = 'PAYMENT' } = found;
  const request = compose(choice, { token, capture, payment }, hashType, typed);
  const hasCard = containsCardOfPerson(`${request.payload ?? ''}\n${request.parameter}`, [token]);
  const start = (next: Partial<Choice>): void => {
    const group = next.group ?? choice.group;
    setChoice({
      ...choice,
      operation: next.group === undefined ? choice.operation : OPERATION_GROUPS[group][0],
      ...next,
    });
    setTyped(undefined);
    setFault(undefined);
    setTestCard(false);
    change.reset();
  };
  const edit = (changed: Partial<ComposedRequest>): void => {
    setTyped({ parameter: request.parameter, payload: request.payload, ...changed });
    setTestCard(false);
  };
  const isBusy = change.isPending || (typed === undefined && !found.areLoaded);
  const run = (): void => {
    const now = findFault(request) ?? (hasCard && !isTestCard ? 'card' : undefined);
    setFault(now);
    if (now !== undefined || isBusy) return;
    // The newest records may be others afterwards; the request stays as it was.
    setTyped({ parameter: request.parameter, payload: request.payload });
    change.mutate({ params: { account }, body: toBody(request, hashType) });
  };
  const form = { ...choice, hashType, setHashType, isEdited: typed !== undefined, hasCard, isTestCard, setTestCard };
  return { ...form, request, fault, change, start, edit, run, isBusy };
}

export type WorkbenchState = ReturnType<typeof useWorkbench>;

function compose(
  { group, operation, example }: Choice,
  records: Records,
  hashType: HashType,
  typed: Pick<ComposedRequest, 'parameter' | 'payload'> | undefined,
): ComposedRequest {
  const record = findPathRecord(OPERATIONS[operation].path, group);
  const parameter = record === undefined ? '' : records[record];
  return { operation, hashType, parameter, payload: buildExample(operation, example, records), ...typed };
}

function findFault({ operation, payload, parameter }: ComposedRequest) {
  if (OPERATIONS[operation].path.includes('/:') && parameter.trim() === '') return 'parameterMissing';
  if (payload?.trim() === '') return 'empty';
  return payload !== undefined && payload.length > LIMITS.workbenchPayloadCharacters ? 'tooLong' : undefined;
}

const toBody = ({ operation, parameter, payload }: ComposedRequest, hashType: HashType) => ({
  operation,
  ...(parameter !== '' && { parameter: parameter.trim() }),
  ...(payload !== undefined && { payload }),
  ...(operation === 'proxyHash' && { hash_type: hashType }),
});
