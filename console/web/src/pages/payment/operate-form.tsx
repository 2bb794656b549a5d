import { SegmentedControl, Stack, Text, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { LIMITS } from '../../../../../src/kernel/limits.ts';
import { capturePaymentManually, refundPaymentManually, voidPaymentManually } from '../../../../wire/payments.ts';
import type { CallError } from '../../api/call.ts';
import { useChange } from '../../api/hooks.ts';
import { DialogForm } from '../../parts/form-dialog.tsx';
import { formatMoney } from '../../parts/money.tsx';
import { useNotifyResult } from '../../parts/notifications.tsx';
import { useTenant } from '../../session/tenant.ts';
import { type AmountFault, countDecimals, parseAmount } from '../payments/amount.ts';
import { notifyOutcome } from './notify-outcome.ts';
import type { Payment } from './payment.ts';

export type OperationKind = 'capture' | 'refund' | 'void';

interface OperateFormProps {
  readonly kind: OperationKind;
  readonly payment: Payment;
  readonly onDone: () => void;
  readonly onConflict: () => void;
}

// The three calls differ only in the amount, which a void does not have.
const CALLS = {
  capture: capturePaymentManually,
  refund: refundPaymentManually,
  void: voidPaymentManually as typeof capturePaymentManually,
};

const maxAmount = (kind: OperationKind, { can, authorized_amount, amount }: Payment): string => {
  if (kind === 'capture') return can.capturable;
  if (kind === 'refund') return can.refundable;
  return /[1-9]/.test(authorized_amount) ? authorized_amount : amount;
};

const allowsPartial = (kind: OperationKind, { can }: Payment): boolean =>
  kind === 'refund' || (kind === 'capture' && can.capture_in_parts);

export function OperateForm(props: OperateFormProps) {
  const { kind, onDone } = props;
  // The payment as it was when the dialog opened: the user decides about what is on the screen, whatever is loaded
  // since.
  const [payment] = useState(props.payment);
  const { t, i18n } = useTranslation('payments');
  const [isFull, setFull] = useState(true);
  const [typed, setTyped] = useState('');
  const [reference, setReference] = useState('');
  const [isSubmitted, setSubmitted] = useState(false);
  const { send, isBusy, error } = useOperation({ ...props, payment });
  const max = maxAmount(kind, payment);
  const parsed = isFull ? { amount: max } : parseAmount(typed, max);
  const submit = (): void => {
    setSubmitted(true);
    if ('amount' in parsed) send(isFull ? undefined : parsed.amount, reference.trim());
  };
  const amountText = 'amount' in parsed ? formatMoney(parsed.amount, payment.currency, i18n.language) : '';
  return (
    <DialogForm
      onSubmit={submit}
      onCancel={onDone}
      label={t(`act.${kind}Button`, { amount: amountText })}
      isBusy={isBusy}
      error={error}
      isDangerous={kind === 'void'}
    >
      <Text size="sm">
        {t(kind === 'capture' && !payment.can.capture_in_parts ? 'act.captureWholeText' : `act.${kind}Text`)}
      </Text>
      {allowsPartial(kind, payment) && (
        <AmountFields
          {...{ payment, max, isFull, setFull, typed, setTyped }}
          fault={isSubmitted && 'fault' in parsed ? parsed.fault : undefined}
        />
      )}
      <TextInput
        label={t('act.reference')}
        description={t('act.referenceHint')}
        value={reference}
        onChange={(event) => setReference(event.currentTarget.value)}
        maxLength={LIMITS.referenceCodeCharacters}
        autoComplete="off"
      />
    </DialogForm>
  );
}

interface AmountFieldsProps {
  readonly payment: Payment;
  readonly max: string;
  readonly isFull: boolean;
  readonly setFull: (isFull: boolean) => void;
  readonly typed: string;
  readonly setTyped: (typed: string) => void;
  readonly fault: AmountFault | undefined;
}

/** The full amount, or a field for a part of it. */
function AmountFields({ payment: { currency }, max, isFull, setFull, typed, setTyped, fault }: AmountFieldsProps) {
  const { t, i18n } = useTranslation('payments');
  const full = formatMoney(max, currency, i18n.language);
  return (
    <>
      <AmountChoice isFull={isFull} onChange={setFull} full={full} />
      {!isFull && (
        <TextInput
          label={t('act.amount', { currency })}
          description={t('act.amountHint', { most: full })}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          error={fault && faultText(t, fault, full, countDecimals(max))}
          inputMode="decimal"
          autoComplete="off"
          required
        />
      )}
    </>
  );
}

function AmountChoice({
  isFull,
  onChange,
  full,
}: {
  readonly isFull: boolean;
  readonly onChange: (isFull: boolean) => void;
  readonly full: string;
}) {
  const { t } = useTranslation('payments');
  const id = useId();
  return (
    <Stack gap={4}>
      <Text size="sm" fw={500} id={id}>
        {t('act.howMuch')}
      </Text>
      <SegmentedControl
        fullWidth
        aria-labelledby={id}
        value={isFull ? 'whole' : 'part'}
        onChange={(value) => onChange(value === 'whole')}
        data={[
          { value: 'whole', label: `${t('act.whole')}: ${full}` },
          { value: 'part', label: t('act.part') },
        ]}
      />
    </Stack>
  );
}

const faultText = (
  t: ReturnType<typeof useTranslation<'payments'>>['t'],
  fault: AmountFault,
  max: string,
  places: number,
): string => {
  // Examples have all decimals of the currency, as in the service.
  if (fault === 'form')
    return t('act.amountForm', { example: places === 0 ? '1250' : `12.${'5'.padEnd(places, '0')}` });
  return fault === 'zero' ? t('act.amountZero') : t('act.amountTooMuch', { most: max });
};

/** Sends the operation and shows its outcome. */
function useOperation({ kind, payment, onDone, onConflict }: OperateFormProps) {
  const { t, i18n } = useTranslation('payments');
  const { account, environment } = useTenant();
  const client = useQueryClient();
  const notifyResult = useNotifyResult();
  const change = useChange(CALLS[kind]);
  const onError = (error: CallError): void => {
    if (error.code !== 'changed_meanwhile') return;
    client.invalidateQueries();
    onConflict();
  };
  const send = (amount: string | undefined, reference: string): void => {
    const body = {
      expected_operations: payment.expected_operations,
      ...(amount && { amount }),
      ...(reference && { reference_code: reference }),
    };
    change.mutate(
      { params: { account, environment, id: payment.id }, body },
      {
        onError,
        onSuccess: ({ approval, result }) => {
          notifyResult(approval);
          if (result !== null) notifyOutcome(result, t, i18n.language);
          onDone();
        },
      },
    );
  };
  return { send, isBusy: change.isPending, error: change.error };
}
