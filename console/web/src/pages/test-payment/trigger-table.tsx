import { Radio, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Condition, SimulatedOutcome } from '../../../../../src/payments/processors/simulator/rules.ts';
import { toFailureStatus } from '../../../../../src/payments/transitions.ts';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { TRIGGER_ROWS, type TriggerRow } from './triggers.ts';

interface TriggerTableProps {
  readonly chosen: string;
  readonly onChoose: (id: string) => void;
}

/** Lists the simulator's rules in their order, each with the outcome of an authorization or payment. */
export function TriggerTable({ chosen, onChoose }: TriggerTableProps) {
  const { t } = useTranslation('testPayment');
  const conditionText = useConditionText();
  const outcomeText = useOutcomeText();
  const columns: readonly Column<TriggerRow>[] = [
    {
      name: 'trigger',
      header: t('columns.trigger'),
      cell: ({ id, rule }) => (
        <Radio
          name="trigger"
          value={id}
          checked={id === chosen}
          onChange={() => onChoose(id)}
          label={conditionText(rule.when)}
        />
      ),
    },
    {
      name: 'outcome',
      header: t('columns.outcome'),
      cell: ({ rule }) => <Text size="sm">{outcomeText(rule.outcome)}</Text>,
    },
  ];
  return (
    <DataTable caption={t('caption')} columns={columns} rows={TRIGGER_ROWS} rowKey={({ id }) => id} empty={null} />
  );
}

function useConditionText(): (when: Condition) => string {
  const { t } = useTranslation('testPayment');
  return (when) => {
    switch (when.by) {
      case 'expiry':
        return t('when.expiry');
      case 'triggers':
        return t('when.triggers', { triggers: when.triggers.join(', ') });
      case 'card':
        return t('when.card', { card: when.card });
      case 'amount':
        return t('when.amount', { from: when.from, to: when.to });
      case 'default':
        return t('when.default');
    }
  };
}

export function useOutcomeText(): (outcome: SimulatedOutcome) => string {
  const { t } = useTranslation('testPayment');
  const { t: statusText } = useTranslation('status');
  const { t: paymentText } = useTranslation('payments');
  return (outcome) => {
    if (outcome.kind === 'refused') {
      const { status, reason } = toFailureStatus(outcome.reason);
      return `${statusText(status)}: ${paymentText(`reason.${reason}`)}`;
    }
    if (outcome.kind === 'approved') return outcome.isAnswered ? t('outcome.approved') : t('outcome.unanswered');
    return t(`outcome.${outcome.kind}`);
  };
}
