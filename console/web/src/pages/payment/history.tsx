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
import classes from './history.module.css';
import type { Payment } from './payment.ts';

type Operation = Payment['operations'][number];

const ICONS = { in_progress: CircleDashed, accepted: Check, refused: X } as const;

const isStatus = (word: string): word is Status => (STATUSES as readonly string[]).includes(word);

export function History({ payment: { operations, currency } }: { readonly payment: Payment }) {
  return (
    <ol className={classes['history']}>
      {operations.map((operation, index) => (
        <li key={operation.id} className={classes['entry']} data-state={operation.state}>
          <HistoryEntry operation={operation} previous={operations[index - 1]} currency={currency} />
        </li>
      ))}
    </ol>
  );
}

interface HistoryEntryProps {
  readonly operation: Operation;
  readonly previous: Operation | undefined;
  readonly currency: string;
}

function HistoryEntry({ operation, previous, currency }: HistoryEntryProps) {
  const { t } = useTranslation('payments');
  const { t: statusText } = useTranslation('status');
  const { type, state, amount, status_after, created_at } = operation;
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
        <ProcessorResponse operation={operation} />
        <OperationCodes operation={operation} />
      </div>
    </>
  );
}

/** Shows why the operation failed, and the code of the processor. */
function ProcessorResponse({ operation: { reason, response_code } }: { readonly operation: Operation }) {
  const { t } = useTranslation('payments');
  if (reason === null && response_code === null) return null;
  return (
    <Text size="sm">
      {reason !== null && <ReasonText reason={reason} />}
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
        ]}
      />
    </details>
  );
}
