import { Alert, Button, Group, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { Hourglass } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { checkPayment, resolvePayment } from '../../../../wire/payments.ts';
import { useChange } from '../../api/hooks.ts';
import { DualControlNote, useDualControl } from '../../parts/dual-control.tsx';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { FormDialog, useDialog } from '../../parts/form-dialog.tsx';
import { notifySuccess, useNotifyResult } from '../../parts/notifications.tsx';
import { Time, useNow } from '../../parts/time.tsx';
import { useCan, useTenant } from '../../session/tenant.ts';
import type { Payment, UnknownOutcome } from './payment.ts';
import { useProblemText } from './problem-text.ts';
import { ResolveForm } from './resolve-form.tsx';

const REFRESH_MS = 10_000;
/** Time in which an unknown outcome is normal. */
const RECENT_MS = 120_000;

interface NoticeProps {
  readonly payment: Payment;
  readonly unknown: UnknownOutcome;
}

/** Shows that the outcome of an operation is unknown, since when, what not to do until then, and what a user can do. */
export function UnknownOutcomeNotice({ payment, unknown }: NoticeProps) {
  const { t } = useTranslation('payments');
  const now = useNow(REFRESH_MS);
  const problemText = useProblemText();
  const { operation, since, inquiries, problem, next_inquiry_at } = unknown;
  const isContradiction = problem === 'contradiction';
  const isYoung = !isContradiction && now - Date.parse(since) < RECENT_MS;
  return (
    <Alert
      color="yellow"
      role="status"
      icon={<Hourglass size={18} aria-hidden />}
      title={t(`unknownOutcome.title.${operation}`)}
    >
      <Text size="sm" component="div">
        {t(isContradiction ? 'unknownOutcome.contradiction' : 'unknownOutcome.text')}{' '}
        {isYoung ? (
          t('unknownOutcome.young')
        ) : (
          <>
            {t('unknownOutcome.since')} <Time value={since} />.
          </>
        )}{' '}
        {inquiries > 0 && `${t('unknownOutcome.inquiries', { count: inquiries })} `}
        {problem !== null && `${t('unknownOutcome.lastProblem', { problem: problemText(problem) })} `}
        {next_inquiry_at !== null && (
          <>
            {t('unknownOutcome.next')}: <Time value={next_inquiry_at} />.{' '}
          </>
        )}
        {!isContradiction && t('unknownOutcome.meanwhile')}
      </Text>
      <Text size="sm" fw={600} mt={6}>
        {t(`unknownOutcome.warning.${operation}`)}
      </Text>
      <Actions payment={payment} unknown={unknown} />
    </Alert>
  );
}

function Actions({ payment, unknown }: NoticeProps) {
  const { t } = useTranslation('payments');
  const may = useCan();
  const { params, check, resolve } = useUnknownOutcome(payment);
  const { environment } = useTenant();
  const hasDualControl = useDualControl();
  const dialog = useDialog<UnknownOutcome>();
  const { subject } = dialog;
  const reference = payment.operations.find(({ id }) => id === subject?.transaction_id)?.operation_ref;
  return (
    <>
      <Group gap="xs" mt="sm">
        {may('payments:operate') && (
          <Button variant="default" loading={check.isPending} onClick={() => check.mutate({ params })}>
            {t('unknownOutcome.check')}
          </Button>
        )}
        {may('payments:resolve') && (
          <Button variant="default" onClick={() => dialog.open(unknown)}>
            {t('resolve.button')}
          </Button>
        )}
      </Group>
      {check.error !== null && <ErrorAlert error={check.error} />}
      <FormDialog
        opened={dialog.opened}
        onClose={dialog.close}
        title={t('resolve.title')}
        environment={environment}
        production={t('resolve.production')}
      >
        {subject !== undefined && (
          <>
            {hasDualControl && <DualControlNote />}
            <ResolveForm
              transactionId={subject.transaction_id}
              reference={reference ?? subject.transaction_id}
              onSubmit={(body) => resolve.mutate({ params, body }, { onSuccess: dialog.close })}
              onCancel={dialog.close}
              isBusy={resolve.isPending}
              error={resolve.error}
            />
          </>
        )}
      </FormDialog>
    </>
  );
}

/** The two calls, which notify of their results. */
function useUnknownOutcome({ id }: Payment) {
  const { t } = useTranslation('payments');
  const { account, environment } = useTenant();
  const notifyResult = useNotifyResult();
  const check = useChange(checkPayment);
  const resolve = useChange(resolvePayment);
  const mutateCheck: typeof check.mutate = (args) =>
    check.mutate(args, {
      onSuccess: ({ is_in_doubt }) => {
        if (is_in_doubt) notifications.show({ color: 'yellow', message: t('unknownOutcome.stillUnknown') });
        else notifySuccess(t('unknownOutcome.checked'));
      },
    });
  const mutateResolve: typeof resolve.mutate = (args, options) =>
    resolve.mutate(args, {
      onSuccess: (data, ...rest) => {
        notifyResult(data.approval, t('resolve.done'));
        options?.onSuccess?.(data, ...rest);
      },
    });
  return {
    params: { account, environment, id },
    check: { ...check, mutate: mutateCheck },
    resolve: { ...resolve, mutate: mutateResolve },
  };
}
