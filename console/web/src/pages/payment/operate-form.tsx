import { SegmentedControl, Stack, Text, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { LIMITS } from '../../../../../src/kernel/limits.ts';
import { capturePaymentManually, refundPaymentManually, voidPaymentManually } from '../../../../wire/payments.ts';
import type { CallError } from '../../api/call.ts';
import { useChange } from '../../api/hooks.ts';
import { DialogForm } from '../../parts/form-dialog.tsx';
import { moneyText } from '../../parts/money.tsx';
import { useNoteApproval } from '../../parts/notices.tsx';
import { useTenant } from '../../session/tenant.ts';
import { placesOf, readAmount } from '../payments/amount.ts';
import { noteOutcome } from './note-outcome.ts';
import type { Payment } from './payment-page.tsx';

export type OperationKind = 'capture' | 'refund' | 'void';

interface OperateFormProps {
  readonly kind: OperationKind;
  readonly payment: Payment;
  readonly onDone: () => void;
  readonly onChangedMeanwhile: () => void;
}

// A void is a call without an amount; else they are the same.
const CALLS = {
  capture: capturePaymentManually,
  refund: refundPaymentManually,
  void: voidPaymentManually as typeof capturePaymentManually,
};

const mostOf = (kind: OperationKind, { can, authorized_amount, amount }: Payment): string => {
  if (kind === 'capture') return can.capturable;
  if (kind === 'refund') return can.refundable;
  return /[1-9]/.test(authorized_amount) ? authorized_amount : amount;
};

const takesParts = (kind: OperationKind, { can }: Payment): boolean =>
  kind === 'refund' || (kind === 'capture' && can.capture_in_parts);

export function OperateForm(props: OperateFormProps) {
  const { kind, onDone } = props;
  // As it was when the dialog opened: what the person looked at is what is sent, whatever is read meanwhile.
  const [payment] = useState(props.payment);
  const { t, i18n } = useTranslation('payments');
  const [isWhole, setWhole] = useState(true);
  const [typed, setTyped] = useState('');
  const [reference, setReference] = useState('');
  const [isTried, setTried] = useState(false);
  const { send, isBusy, error } = useOperation({ ...props, payment });
  const most = mostOf(kind, payment);
  const read = isWhole ? { amount: most } : readAmount(typed, most);
  const shown = (amount: string): string => moneyText(amount, payment.currency, i18n.language);
  const submit = (): void => {
    setTried(true);
    if ('amount' in read) send(isWhole ? undefined : read.amount, reference.trim());
  };
  const fault = isTried && 'fault' in read ? faultText(t, read.fault, shown(most), placesOf(most)) : undefined;
  return (
    <DialogForm
      onSubmit={submit}
      onCancel={onDone}
      label={t(`act.${kind}Button`, { amount: 'amount' in read ? shown(read.amount) : '' })}
      isBusy={isBusy}
      error={error}
      isDangerous={kind === 'void'}
    >
      <Text size="sm">
        {t(kind === 'capture' && !payment.can.capture_in_parts ? 'act.captureWholeText' : `act.${kind}Text`)}
      </Text>
      {takesParts(kind, payment) && <WholeOrPart isWhole={isWhole} onChange={setWhole} whole={shown(most)} />}
      {!isWhole && (
        <TextInput
          label={t('act.amount', { currency: payment.currency })}
          description={t('act.amountHint', { most: shown(most) })}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          error={fault}
          inputMode="decimal"
          autoComplete="off"
          required
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

function WholeOrPart({
  isWhole,
  onChange,
  whole,
}: {
  readonly isWhole: boolean;
  readonly onChange: (isWhole: boolean) => void;
  readonly whole: string;
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
        value={isWhole ? 'whole' : 'part'}
        onChange={(value) => onChange(value === 'whole')}
        data={[
          { value: 'whole', label: `${t('act.whole')}: ${whole}` },
          { value: 'part', label: t('act.part') },
        ]}
      />
    </Stack>
  );
}

const faultText = (
  t: ReturnType<typeof useTranslation<'payments'>>['t'],
  fault: 'form' | 'zero' | 'tooMuch',
  most: string,
  places: number,
): string => {
  // As the service writes amounts, with all places of the currency.
  if (fault === 'form')
    return t('act.amountForm', { example: places === 0 ? '1250' : `12.${'5'.padEnd(places, '0')}` });
  return fault === 'zero' ? t('act.amountZero') : t('act.amountTooMuch', { most });
};

/** Sends it, and tells what became of it. */
function useOperation({ kind, payment, onDone, onChangedMeanwhile }: OperateFormProps) {
  const { t, i18n } = useTranslation('payments');
  const { account, environment } = useTenant();
  const client = useQueryClient();
  const noteApproval = useNoteApproval();
  const change = useChange(CALLS[kind]);
  const onError = (error: CallError): void => {
    if (error.code !== 'changed_meanwhile') return;
    client.invalidateQueries();
    onChangedMeanwhile();
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
          if (approval !== null) noteApproval(approval);
          if (result !== null) noteOutcome(result, t, i18n.language);
          onDone();
        },
      },
    );
  };
  return { send, isBusy: change.isPending, error: change.error };
}
