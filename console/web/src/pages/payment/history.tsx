import { Group, Text } from '@mantine/core';
import { Check, CircleDashed, X } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { STATUSES } from '../../../../../src/payments/transitions.ts';
import { CopyField } from '../../parts/copy.tsx';
import { Details } from '../../parts/details.tsx';
import { Money } from '../../parts/money.tsx';
import { type Status, StatusBadge } from '../../parts/status-badge.tsx';
import { Time } from '../../parts/time.tsx';
import { ReasonText } from '../payments/reason-text.tsx';
import { AuditLink } from './audit-link.tsx';
import classes from './history.module.css';
import type { HistoryEntry, Operation, Payment, Requester } from './payment.ts';
import { useProblemText } from './problem-text.ts';

const ICONS = { in_progress: CircleDashed, accepted: Check, refused: X } as const;

const isStatus = (word: string): word is Status => (STATUSES as readonly string[]).includes(word);

export function History({ payment: { id, operations, currency } }: { readonly payment: Payment }) {
  return (
    <ol className={classes['history']}>
      {operations.map((operation, index) => (
        <li key={operation.id} className={classes['entry']} data-state={operation.state}>
          <OperationEntry payment={id} operation={operation} previous={operations[index - 1]} currency={currency} />
        </li>
      ))}
    </ol>
  );
}

interface OperationEntryProps {
  readonly payment: string;
  readonly operation: Operation;
  readonly previous: Operation | undefined;
  readonly currency: string;
}

function OperationEntry({ payment, operation, previous, currency }: OperationEntryProps) {
  const { t } = useTranslation('payments');
  const { t: statusText } = useTranslation('status');
  const { type, state, amount, status_after, created_at, history } = operation;
  const Icon = ICONS[state];
  return (
    <>
      <span className={classes['mark']}>
        <Icon size={14} strokeWidth={2.5} aria-hidden />
      </span>
      <div className={classes['words']}>
        <Group justify="space-between" gap="xs">
          <Group gap={8}>
            <Text fw={600} size="sm">
              {t(`operation.${type}`)}
            </Text>
            <StatusBadge status={state} />
          </Group>
          <Text size="sm" fw={500}>
            <Money amount={amount} currency={currency} />
          </Text>
        </Group>
        <div className={classes['when']}>
          <Time value={created_at} isRelative hasSeconds />
          {status_after !== null && status_after !== previous?.status_after && isStatus(status_after) && (
            <span>
              {t('operation.statusAfter')}: {statusText(status_after)}
            </span>
          )}
        </div>
        <RequestedBy payment={payment} operation={operation} />
        <ProcessorResponse operation={operation} />
        {history.length > 0 && (
          <ol className={classes['events']} aria-label={t('event.list')}>
            {history.map((entry) => (
              <li key={`${entry.type}/${entry.at}`}>
                <Event payment={payment} operation={operation} entry={entry} />
              </li>
            ))}
          </ol>
        )}
        <OperationCodes operation={operation} />
      </div>
    </>
  );
}

/** Returns the name of a key or user, else the id, which stays when it no longer exists. */
function useRequesterText(): (requester: Requester) => string {
  const { t } = useTranslation('payments');
  return ({ type, id, name }) => t(`requester.${type}`, { name: name ?? id ?? '' });
}

function RequestedBy({ payment, operation }: Pick<OperationEntryProps, 'payment' | 'operation'>) {
  const { t } = useTranslation('payments');
  const requesterText = useRequesterText();
  const { type, created_at, requested_by } = operation;
  if (requested_by === null) return null;
  return (
    <div className={classes['when']}>
      <span>{t('operation.requestedBy', { requester: requesterText(requested_by) })}</span>
      <AuditLink
        payment={payment}
        action={type === 'expiry' ? 'payment.expired' : 'payment.requested'}
        at={created_at}
      />
    </div>
  );
}

/** Actions of the audit records of events; the others have none of their own. */
const AUDIT_ACTIONS: Partial<Record<HistoryEntry['type'], string>> = {
  confirmed: 'payment.resolved',
  reversed: 'payment.resolved',
  superseded: 'payment.resolved',
  'resolved-manually': 'payment.resolved-manually',
};

interface EventProps extends Pick<OperationEntryProps, 'payment' | 'operation'> {
  readonly entry: HistoryEntry;
}

function Event({ payment, operation, entry }: EventProps) {
  const { t } = useTranslation('payments');
  const { t: statusText } = useTranslation('status');
  const requesterText = useRequesterText();
  const problemText = useProblemText();
  const { type, at, problem, inquiries, status, outcome, by, reason } = entry;
  const isVoid = operation.type === 'authorization_void' || operation.type === 'expiry';
  const action = AUDIT_ACTIONS[type];
  return (
    <>
      <Text size="sm" fw={500}>
        {type === 'taken-over' && isVoid ? t('event.repeated') : t(`event.${type}`)}
        {outcome !== null && `: ${t(`event.outcome.${outcome}`)}`}
        {status !== null && isStatus(status) && `: ${statusText(status)}`}
      </Text>
      <div className={classes['when']}>
        <Time value={at} isRelative />
        {by !== null && <span>{t('event.by', { requester: requesterText(by) })}</span>}
        {inquiries !== null && inquiries > 0 && <span>{t('event.inquiries', { count: inquiries })}</span>}
        {problem !== null && <span>{t('event.problem', { problem: problemText(problem) })}</span>}
        {action !== undefined && <AuditLink payment={payment} action={action} at={at} />}
      </div>
      {reason !== null && (
        <Text size="sm" className={classes['reason']}>
          {t('event.reason', { reason })}
        </Text>
      )}
    </>
  );
}

/** Shows why the operation failed, and the code of the processor. */
function ProcessorResponse({ operation: { reason, failure_cause, response_code } }: { readonly operation: Operation }) {
  const { t } = useTranslation('payments');
  if (reason === null && response_code === null) return null;
  return (
    <Text size="sm">
      {reason !== null && <ReasonText reason={reason} cause={failure_cause} />}
      {reason !== null && response_code !== null && ' · '}
      {response_code !== null && (
        <>
          {t('operation.responseCode')} <span className={classes['code']}>{response_code}</span>
        </>
      )}
    </Text>
  );
}

function OperationCodes({ operation }: { readonly operation: Operation }) {
  const { t } = useTranslation('payments');
  const code = (label: string, value: string | null) =>
    value === null ? undefined : { label, value: <CopyField value={value} label={label} /> };
  return (
    <details className={classes['codes']}>
      <summary>{t('operation.more')}</summary>
      <Details
        items={[
          code(t('operation.approvalCode'), operation.approval_code),
          code(t('operation.avs'), operation.avs),
          code(t('operation.reference'), operation.reference_code),
          code(t('operation.operationRef'), operation.operation_ref),
          code(t('operation.processorId'), operation.processor_id),
          code(t('operation.reconciliationId'), operation.reconciliation_id),
          code(t('operation.id'), operation.id),
          code(t('operation.requesterId'), operation.requested_by?.id ?? null),
        ]}
      />
    </details>
  );
}
