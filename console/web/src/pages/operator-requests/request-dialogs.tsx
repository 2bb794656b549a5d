import { Skeleton, Text, Textarea } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { LIMITS } from '../../../../../src/kernel/limits.ts';
import { approveActivation, declineActivation, showAccount } from '../../../../wire/operator.ts';
import { useChange, useRead } from '../../api/hooks.ts';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { DialogForm, FormDialog, useDialog } from '../../parts/form-dialog.tsx';
import { noteDone } from '../../parts/notices.tsx';
import { EnableForm } from '../operator-payments/enable-form.tsx';
import type { Asked, Decision } from './request-card.tsx';

export const useRequestDialog = () => useDialog<{ decision: Decision; asked: Asked }>();

type RequestDialogsProps = ReturnType<typeof useRequestDialog>;

/** Approve with the settings of the processor, or decline with a reason. */
export function RequestDialogs({ opened, about, close }: RequestDialogsProps) {
  const { t } = useTranslation('operator');
  if (about === undefined) return null;
  const { decision, asked } = about;
  const { environment } = asked.request;
  const isApproval = decision === 'approve';
  return (
    <FormDialog
      opened={opened}
      onClose={close}
      title={t(isApproval ? 'requests.approveTitle' : 'requests.declineTitle', { account: asked.account_name })}
      environment={environment}
      {...(isApproval && { production: t('enable.production'), size: 'lg' as const })}
    >
      {isApproval ? <ApproveForm asked={asked} onDone={close} /> : <DeclineForm asked={asked} onDone={close} />}
    </FormDialog>
  );
}

interface FormProps {
  readonly asked: Asked;
  readonly onDone: () => void;
}

const paramsOf = ({ account, request }: Asked) => ({ id: account, request: request.id });

function ApproveForm({ asked, onDone }: FormProps) {
  const { t } = useTranslation('operator');
  const [answer, setAnswer] = useState('');
  const change = useChange(approveActivation);
  // What is set already need not be given again.
  const { data, error, refetch } = useRead(showAccount, { params: { id: asked.account } });
  if (data === undefined) {
    return error === null ? <Skeleton height={240} aria-hidden /> : <ErrorAlert error={error} onRetry={refetch} />;
  }
  const { environment, processor } = asked.request;
  const text = answer.trim();
  return (
    <>
      <Text size="sm">{t('requests.approveText')}</Text>
      <EnableForm
        environment={environment}
        present={data.payments.find((each) => each.environment === environment)}
        processor={processor}
        onSubmit={(given) =>
          change.mutate(
            { params: paramsOf(asked), body: { ...given, ...(text !== '' && { answer: text }) } },
            {
              onSuccess: ({ approval }) => {
                onDone();
                noteDone(t(approval === null ? 'requests.approved' : 'account.approvalNeeded'));
              },
            },
          )
        }
        onCancel={onDone}
        label={t('requests.approveConfirm')}
        isBusy={change.isPending}
        error={change.error}
      >
        <Textarea
          label={t('requests.answerField')}
          description={t('requests.answerHint')}
          value={answer}
          onChange={(event) => setAnswer(event.currentTarget.value)}
          maxLength={LIMITS.noteCharacters}
          rows={2}
        />
      </EnableForm>
    </>
  );
}

function DeclineForm({ asked, onDone }: FormProps) {
  const { t } = useTranslation('operator');
  const [answer, setAnswer] = useState('');
  const [isTried, setTried] = useState(false);
  const change = useChange(declineActivation);
  const text = answer.trim();
  const send = (): void => {
    setTried(true);
    if (text === '') return;
    change.mutate(
      { params: paramsOf(asked), body: { answer: text } },
      {
        onSuccess: () => {
          onDone();
          noteDone(t('requests.declined'));
        },
      },
    );
  };
  return (
    <DialogForm
      onSubmit={send}
      onCancel={onDone}
      label={t('requests.declineConfirm')}
      isBusy={change.isPending}
      error={change.error}
      isDangerous
    >
      <Textarea
        label={t('requests.declineField')}
        description={t('requests.declineHint')}
        value={answer}
        onChange={(event) => setAnswer(event.currentTarget.value)}
        error={isTried && text === '' && t('requests.declineNeeded')}
        maxLength={LIMITS.noteCharacters}
        rows={3}
        required
        data-autofocus
      />
    </DialogForm>
  );
}
