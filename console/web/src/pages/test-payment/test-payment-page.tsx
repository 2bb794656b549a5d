import { Alert, Anchor, Button, Grid, Group, SegmentedControl, Stack, Text } from '@mantine/core';
import { CircleCheck, CircleX, Info } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { showOnboarding } from '../../../../wire/onboarding.ts';
import { runInWorkbench } from '../../../../wire/workbench.ts';
import { useChange, useRead } from '../../api/hooks.ts';
import { CodeBlock } from '../../parts/code-block.tsx';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { Panel } from '../../parts/panel.tsx';
import { type Status, StatusBadge } from '../../parts/status-badge.tsx';
import { useCurl } from '../../session/api-access.ts';
import { useTenant } from '../../session/tenant.ts';
import { ReasonText } from '../payments/reason-text.tsx';
import { SandboxOnly } from '../workbench/workbench-page.tsx';
import { toCurl, type WorkbenchRun } from '../workbench/workbench-run.ts';
import { TriggerTable, useOutcomeText } from './trigger-table.tsx';
import { DEFAULT_ROW, type PaymentType, TRIGGER_ROWS, toRequestBody, toTestValues } from './triggers.ts';

/** Sends a payment to the simulator, with the outcome that the user chooses. */
export function TestPaymentPage() {
  const { t } = useTranslation('testPayment');
  const { account, environment } = useTenant();
  const back = { to: `/a/${account}/sandbox/payments`, label: t('back') };
  return (
    <>
      <PageHeader title={t('title')} description={t('description')} back={back} />
      {environment === 'sandbox' ? <TestPayment /> : <SandboxOnly page="test-payment" />}
    </>
  );
}

function TestPayment() {
  const { t } = useTranslation('testPayment');
  const { account } = useTenant();
  const [chosen, setChosen] = useState(DEFAULT_ROW);
  const [type, setType] = useState<PaymentType>('authorization');
  const change = useChange(runInWorkbench);
  const outcomeText = useOutcomeText();
  const row = TRIGGER_ROWS.find(({ id }) => id === chosen);
  const values = toTestValues(row?.rule.when ?? { by: 'default' }, Date.now());
  const payload = JSON.stringify(toRequestBody(values, type, t('reference')), undefined, 2);
  const send = (): void => change.mutate({ params: { account }, body: { operation: 'createPayment', payload } });
  const choose = (id: string): void => {
    setChosen(id);
    change.reset();
  };
  const request = { operation: 'createPayment', parameter: '', hashType: '', payload } as const;
  return (
    <Grid gap="md">
      <Grid.Col span={{ base: 12, lg: 7 }}>
        <Panel title={t('triggers')} description={t('triggersText')}>
          <TriggerTable chosen={chosen} onChoose={choose} />
        </Panel>
      </Grid.Col>
      <Grid.Col span={{ base: 12, lg: 5 }}>
        <Stack gap="md" pos="sticky" top={98}>
          <Panel title={t('send')}>
            <ProcessorNote />
            <SegmentedControl
              aria-label={t('type')}
              value={type}
              onChange={(value) => setType(value as PaymentType)}
              data={(['authorization', 'payment'] as const).map((value) => ({ value, label: t(`types.${value}`) }))}
            />
            <Text size="sm" c="dimmed">
              {t(`typeText.${type}`)}
            </Text>
            {row !== undefined && <Text size="sm">{t('expected', { outcome: outcomeText(row.rule.outcome) })}</Text>}
            <Group>
              <Button onClick={send} loading={change.isPending}>
                {t('send')}
              </Button>
            </Group>
            {change.error !== null && <ErrorAlert error={change.error} />}
            <div aria-live="polite">{change.data !== undefined && <Outcome run={change.data} />}</div>
          </Panel>
          <Panel title={t('request')}>
            <CodeBlock label="curl" code={toCurl(useCurl('sandbox'), request)} maxHeight={320} />
          </Panel>
        </Stack>
      </Grid.Col>
    </Grid>
  );
}

/** Reports that payments are not enabled, or that another processor receives them, which ignores the triggers. */
function ProcessorNote() {
  const { t } = useTranslation('testPayment');
  const { account } = useTenant();
  const { data } = useRead(showOnboarding, { params: { account } });
  const sandbox = data?.payments.find(({ environment }) => environment === 'sandbox');
  const isSimulator = data?.processors.some((each) => each.is_simulator && each.name === sandbox?.processor);
  if (sandbox === undefined || isSimulator) return null;
  return (
    <Alert color="yellow" icon={<Info size={18} aria-hidden />}>
      <Text size="sm">
        {sandbox.enabled ? t('otherProcessor', { processor: sandbox.processor ?? '' }) : t('notEnabled')}{' '}
        {!sandbox.enabled && (
          <Anchor component={Link} to={`/a/${account}/onboarding`} size="sm">
            {t('toOnboarding')}
          </Anchor>
        )}
      </Text>
    </Alert>
  );
}

interface PaymentInfo {
  readonly transaction_id: string;
  readonly status: Status;
  readonly reason?: string;
}

/** Returns the transaction of a response of the API; undefined when none was created. */
function parsePayment({ response, error }: WorkbenchRun): PaymentInfo | undefined {
  if (error !== null) return undefined;
  return JSON.parse(response).data.transaction_info;
}

function Outcome({ run }: { readonly run: WorkbenchRun }) {
  const { t } = useTranslation('testPayment');
  const { account } = useTenant();
  const payment = parsePayment(run);
  if (payment === undefined)
    return (
      <Stack gap="sm">
        <Alert color="red" icon={<CircleX size={18} aria-hidden />} title={t('failed', { status: run.status })} />
        <CodeBlock label={t('response')} code={run.response} maxHeight={240} />
      </Stack>
    );
  return (
    <Alert color="teal" icon={<CircleCheck size={18} aria-hidden />} title={t('sent')}>
      <Stack gap={6} align="flex-start">
        <Group gap="xs">
          <StatusBadge status={payment.status} />
          {payment.reason !== undefined && (
            <Text size="sm">
              <ReasonText reason={payment.reason} />
            </Text>
          )}
        </Group>
        {payment.status === 'Opened' && <Text size="sm">{t('opened')}</Text>}
        <Anchor component={Link} to={`/a/${account}/sandbox/payments/${payment.transaction_id}`} size="sm">
          {t('view')}
        </Anchor>
      </Stack>
    </Alert>
  );
}
