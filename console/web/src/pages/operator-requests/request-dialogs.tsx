import { Skeleton, Text, Textarea } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { LIMITS } from '../../../../../src/kernel/limits.ts';
import { approveActivation, declineActivation, showAccount } from '../../../../wire/operator.ts';
import { useChange, useRead } from '../../api/hooks.ts';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { DialogForm, FormDialog, useDialog } from '../../parts/form-dialog.tsx';
import { notifySuccess } from '../../parts/notifications.tsx';
import { EnableForm } from '../operator-payments/enable-form.tsx';
import type { AccountRequest, Decision } from './request-card.tsx';

export const useRequestDialog = () => useDialog<{ decision: Decision; item: AccountRequest }>();

type RequestDialogsProps = ReturnType<typeof useRequestDialog>;

/** Dialogs that approve a request with processor settings, or decline it with a reason. */
export function RequestDialogs({ opened, subject, close }: RequestDialogsProps) {
  const { t } = useTranslation('operator');
  if (subject === undefined) return null;
  const { decision, item } = subject;
  const { environment } = item.request;
  const isApproval = decision === 'approve';
  return (
    <FormDialog
      opened={opened}
      onClose={close}
      title={t(isApproval ? 'requests.approveTitle' : 'requests.declineTitle', { account: item.account_name })}
      environment={environment}
      {...(isApproval && { production: t('enable.production'), size: 'lg' as const })}
    >
      {isApproval ? <ApproveForm item={item} onDone={close} /> : <DeclineForm item={item} onDone={close} />}
    </FormDialog>
  );
}

interface FormProps {
  readonly item: AccountRequest;
  readonly onDone: () => void;
}

const toParams = ({ account, request }: AccountRequest) => ({ id: account, request: request.id });

function ApproveForm({ item, onDone }: FormProps) {
  const { t } = useTranslation('operator');
  const [note, setNote] = useState('');
  const change = useChange(approveActivation);
  // Settings that have a value can stay empty.
  const { data, error, refetch } = useRead(showAccount, { params: { id: item.account } });
  if (data === undefined) {
    return error === null ? <Skeleton height={240} aria-hidden /> : <ErrorAlert error={error} onRetry={refetch} />;
  }
  const { environment, processor } = item.request;
  const text = note.trim();
  return (
    <>
      <Text size="sm">{t('requests.approveText')}</Text>
      <EnableForm
        environment={environment}
        current={data.payments.find((each) => each.environment === environment)}
        processor={processor}
        onSubmit={(given) =>
          change.mutate(
            { params: toParams(item), body: { ...given, ...(text !== '' && { decision_note: text }) } },
            {
              onSuccess: ({ approval }) => {
                onDone();
                notifySuccess(t(approval === null ? 'requests.approved' : 'account.approvalNeeded'));
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
          label={t('requests.noteField')}
          description={t('requests.noteHint')}
          value={note}
          onChange={(event) => setNote(event.currentTarget.value)}
          maxLength={LIMITS.noteCharacters}
          rows={2}
        />
      </EnableForm>
    </>
  );
}

function DeclineForm({ item, onDone }: FormProps) {
  const { t } = useTranslation('operator');
  const [note, setNote] = useState('');
  const [isSubmitted, setSubmitted] = useState(false);
  const change = useChange(declineActivation);
  const text = note.trim();
  const onSuccess = (): void => {
    onDone();
    notifySuccess(t('requests.declined'));
  };
  const send = (): void => {
    setSubmitted(true);
    if (text !== '') change.mutate({ params: toParams(item), body: { decision_note: text } }, { onSuccess });
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
        value={note}
        onChange={(event) => setNote(event.currentTarget.value)}
        error={isSubmitted && text === '' && t('requests.declineNeeded')}
        maxLength={LIMITS.noteCharacters}
        rows={3}
        required
        data-autofocus
      />
    </DialogForm>
  );
}
