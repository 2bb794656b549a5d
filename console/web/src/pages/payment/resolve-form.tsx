import { Alert, Radio, Stack, Text, Textarea } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ValueOf } from '../../../../../src/http/fields.ts';
import { LIMITS } from '../../../../../src/kernel/limits.ts';
import type { resolution } from '../../../../wire/payments.ts';
import type { CallError } from '../../api/call.ts';
import { CopyField } from '../../parts/copy.tsx';
import { DialogForm } from '../../parts/form-dialog.tsx';

export type Resolution = ValueOf<typeof resolution>;

interface ResolveFormProps {
  readonly transactionId: string;
  /** The reference by which the user finds the operation at the processor. */
  readonly reference: string;
  readonly onSubmit: (resolution: Resolution) => void;
  readonly onCancel: () => void;
  readonly isBusy: boolean;
  readonly error: CallError | null;
}

/** Asks for the outcome that the user saw in the console of the processor, and for the reason. */
export function ResolveForm({ transactionId, reference, onSubmit, ...dialog }: ResolveFormProps) {
  const { t } = useTranslation('payments');
  const [outcome, setOutcome] = useState<Resolution['outcome'] | ''>('');
  const [reason, setReason] = useState('');
  const [isSubmitted, setSubmitted] = useState(false);
  const submit = (): void => {
    setSubmitted(true);
    if (outcome !== '' && reason.trim() !== '')
      onSubmit({ transaction_id: transactionId, outcome, reason: reason.trim() });
  };
  return (
    <DialogForm {...dialog} onSubmit={submit} label={t('resolve.button')} isDangerous>
      <Stack gap={4}>
        <Text size="sm">{t('resolve.text')}</Text>
        <CopyField value={reference} label={t('operation.operationRef')} />
      </Stack>
      <Radio.Group
        label={t('resolve.outcome')}
        value={outcome}
        onChange={(value) => setOutcome(value as Resolution['outcome'])}
        error={isSubmitted && outcome === '' ? t('resolve.outcomeNeeded') : undefined}
        data-fault={isSubmitted && outcome === '' ? true : undefined}
        required
      >
        <Stack gap={8} mt={6}>
          <Radio value="accepted" label={t('resolve.accepted')} />
          <Radio value="refused" label={t('resolve.refused')} />
        </Stack>
      </Radio.Group>
      <Textarea
        label={t('resolve.reason')}
        description={t('resolve.reasonHint')}
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
        error={isSubmitted && reason.trim() === '' ? t('resolve.reasonNeeded') : undefined}
        maxLength={LIMITS.noteCharacters}
        autosize
        minRows={2}
        required
      />
      <Alert color="yellow">{t('resolve.warning')}</Alert>
    </DialogForm>
  );
}
