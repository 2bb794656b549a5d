import { Alert, Box, Button, Group, List, Progress, Stack, Table, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import {
  capturePaymentManually,
  previewOperations,
  refundPaymentManually,
  voidPaymentManually,
} from '../../../../wire/payments.ts';
import { type CallError, call } from '../../api/call.ts';
import { useOnce, useSteppedUp } from '../../api/hooks.ts';
import { DualControlNote, useDualControl } from '../../parts/dual-control.tsx';
import { useErrorText } from '../../parts/error-alert.tsx';
import { DialogForm, FormDialog } from '../../parts/form-dialog.tsx';
import { useLeaveGuard } from '../../parts/leave-guard.ts';
import { formatMoney, Money } from '../../parts/money.tsx';
import { useReasonText } from '../../parts/reason-text.ts';
import { ShortId } from '../../parts/short-id.tsx';
import { useTenant } from '../../session/tenant.ts';
import { type BatchItem, type BatchKind, type BatchOutcome, runBatch, sumByCurrency } from './run-batch.ts';

// The calls differ only in the amount, which a batch does not have.
const CALLS = {
  capture: capturePaymentManually,
  refund: refundPaymentManually,
  void: voidPaymentManually as typeof capturePaymentManually,
};

interface BatchDialogProps {
  readonly opened: boolean;
  readonly kind: BatchKind;
  readonly ids: readonly string[];
  /** `hasRun`: operations were sent. */
  readonly onClose: (hasRun: boolean) => void;
}

/** Previews an operation on several payments, runs it after one confirmation, and shows the result of each. */
export function BatchDialog({ opened, kind, ids, onClose }: BatchDialogProps) {
  const { t } = useTranslation('payments');
  const { t: listText } = useTranslation('lists');
  const { environment } = useTenant();
  const [isRunning, setRunning] = useState(false);
  const [hasRun, setHasRun] = useState(false);
  useLeaveGuard(isRunning);
  const close = (): void => {
    if (isRunning) return;
    onClose(hasRun);
    setHasRun(false);
  };
  return (
    <FormDialog
      opened={opened}
      onClose={close}
      title={listText(`batch.${kind}.title`, { count: ids.length })}
      environment={environment}
      production={t('act.production')}
      size="lg"
    >
      <BatchForm
        {...{ kind, ids }}
        onClose={close}
        onRun={(isNowRunning) => {
          setHasRun(true);
          setRunning(isNowRunning);
        }}
      />
    </FormDialog>
  );
}

interface BatchFormProps {
  readonly kind: BatchKind;
  readonly ids: readonly string[];
  readonly onClose: () => void;
  readonly onRun: (isRunning: boolean) => void;
}

function BatchForm({ kind, ids, onClose, onRun }: BatchFormProps) {
  const { t } = useTranslation('lists');
  const { account, environment } = useTenant();
  const isDual = useDualControl();
  const [id] = useState(() => crypto.randomUUID());
  const preview = useQuery<readonly BatchItem[], CallError>({
    queryKey: ['batch', id],
    queryFn: async () => {
      const args = { params: { account, environment }, body: { kind, ids: [...ids] } };
      const { payments } = await call(previewOperations, args);
      return payments.map((payment) => ({ ...payment, key: `${id}.${payment.id}` }));
    },
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  });
  const batch = useBatch(kind, onRun);
  if (batch.items !== undefined) return <BatchResults {...batch} items={batch.items} onClose={onClose} />;
  const possible = preview.data?.filter(({ refusal }) => refusal === null) ?? [];
  return (
    <DialogForm
      onSubmit={() => batch.start(possible)}
      onCancel={onClose}
      label={t(`batch.${kind}.submit`, { count: possible.length })}
      isBusy={preview.isPending || preview.isFetching}
      isReady={possible.length > 0}
      error={preview.error}
      isDangerous={kind === 'void'}
    >
      <Text size="sm">{t(`batch.${kind}.text`)}</Text>
      {isDual && <DualControlNote />}
      {preview.data !== undefined && <Preview items={preview.data} />}
    </DialogForm>
  );
}

function Preview({ items }: { readonly items: readonly BatchItem[] }) {
  const { t, i18n } = useTranslation('lists');
  const reasonText = useReasonText();
  const possible = items.filter(({ refusal }) => refusal === null);
  const refused = items.filter(({ refusal }) => refusal !== null);
  return (
    <>
      {possible.length === 0 ? (
        <Alert color="yellow">{t('batch.nothing')}</Alert>
      ) : (
        <Text fw={600}>
          {t('batch.total')}:{' '}
          {sumByCurrency(possible)
            .map(({ amount, currency }) => formatMoney(amount, currency, i18n.language))
            .join(' + ')}
        </Text>
      )}
      {refused.length > 0 && (
        <div>
          <Text size="sm">{t('batch.refusedCount', { count: refused.length })}</Text>
          <List size="sm" mah={200} style={{ overflowY: 'auto' }} tabIndex={0}>
            {refused.map(({ id, refusal }) => (
              <List.Item key={id}>
                <ShortId id={id} /> {refusal !== null && reasonText(refusal)}
              </List.Item>
            ))}
          </List>
        </div>
      )}
    </>
  );
}

/** Runs a batch once; its items and keys stay the same for every repeat. */
function useBatch(kind: BatchKind, onRun: (isRunning: boolean) => void) {
  const { account, environment } = useTenant();
  const client = useQueryClient();
  const steppedUp = useSteppedUp();
  const [items, setItems] = useState<readonly BatchItem[]>();
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, BatchOutcome>>(new Map());
  const isStopped = useRef(false);
  const definition = CALLS[kind];
  const run = useOnce<void, readonly BatchItem[]>({
    mutationFn: async (chosen) => {
      isStopped.current = false;
      onRun(true);
      await runBatch({
        items: chosen,
        kind,
        isStopped: () => isStopped.current,
        send: ({ id, key, expected_operations }) => {
          const args = { params: { account, environment, id }, body: { expected_operations } };
          return steppedUp(() => call(definition, args, { idempotencyKey: key }), definition.dualControl);
        },
        onOutcome: ({ id }, outcome) => setOutcomes((before) => new Map(before).set(id, outcome)),
      });
    },
    onSettled: () => {
      onRun(false);
      client.invalidateQueries();
    },
  });
  return {
    items,
    outcomes,
    isRunning: run.isPending,
    start: (chosen: readonly BatchItem[]) => {
      setItems(chosen);
      run.mutate(chosen);
    },
    repeat: (chosen: readonly BatchItem[]) => run.mutate(chosen),
    stop: () => {
      isStopped.current = true;
    },
  };
}

type BatchResultsProps = Pick<ReturnType<typeof useBatch>, 'outcomes' | 'isRunning' | 'repeat' | 'stop'> & {
  readonly items: readonly BatchItem[];
  readonly onClose: () => void;
};

const ENDED: ReadonlySet<BatchOutcome['state']> = new Set([
  'done',
  'approval',
  'declined',
  'refused',
  'unknown',
  'lost',
  'stopped',
]);

function BatchResults({ items, outcomes, isRunning, repeat, stop, onClose }: BatchResultsProps) {
  const { t } = useTranslation('lists');
  const outcomeOf = ({ id }: BatchItem): BatchOutcome => outcomes.get(id) ?? { state: 'waiting' };
  const done = items.filter((item) => ENDED.has(outcomeOf(item).state)).length;
  const open = items.filter((item) => ['lost', 'unknown'].includes(outcomeOf(item).state));
  return (
    <Stack gap="md">
      <Text size="sm" role="status">
        {t('batch.progress', { done, total: items.length })}
      </Text>
      <Progress value={(done / items.length) * 100} aria-label={t('batch.results')} />
      {/* The keyboard has to scroll it. */}
      <Box mah={360} style={{ overflowY: 'auto' }} tabIndex={0} role="group" aria-label={t('batch.results')}>
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t('batch.payment')}</Table.Th>
              <Table.Th>{t('batch.amount')}</Table.Th>
              <Table.Th>{t('batch.result')}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {items.map((item) => (
              <Table.Tr key={item.id}>
                <Table.Td>
                  <ShortId id={item.id} />
                </Table.Td>
                <Table.Td>
                  <Money amount={item.amount} currency={item.currency} />
                </Table.Td>
                <Table.Td>
                  <OutcomeText outcome={outcomeOf(item)} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Box>
      <Group justify="flex-end" gap="xs">
        {isRunning && (
          <Button variant="default" onClick={stop}>
            {t('batch.stop')}
          </Button>
        )}
        {!isRunning && open.length > 0 && (
          <Button variant="default" onClick={() => repeat(open)}>
            {t('batch.retry')}
          </Button>
        )}
        <Button onClick={onClose} disabled={isRunning}>
          {t('batch.close')}
        </Button>
      </Group>
    </Stack>
  );
}

function OutcomeText({ outcome }: { readonly outcome: BatchOutcome }) {
  const { t } = useTranslation('lists');
  const { t: paymentText } = useTranslation('payments');
  const errorText = useErrorText();
  if (outcome.state === 'refused') return errorText(outcome.error);
  if (outcome.state === 'declined' && outcome.responseCode !== null)
    return paymentText('act.refusedCode', { code: outcome.responseCode });
  return t(`batch.outcome.${outcome.state}`);
}
