import { Group, Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { CaFileNote } from '../../parts/ca-file-note.tsx';
import { CodeBlock } from '../../parts/code-block.tsx';
import { buildFirstCall } from '../../parts/curl-commands.ts';
import { useCurl } from '../../session/api-access.ts';
import { CheckList } from './check-list.tsx';
import { findStepState, getPaymentsState, type Onboarding, type RequestPayments } from './onboarding-state.ts';
import { RequestProduction } from './request-production.tsx';

/** Lists which parts of going live are done. */
export function LiveChecklist({ onboarding }: { readonly onboarding: Onboarding }) {
  const { t } = useTranslation('onboarding');
  const payments = getPaymentsState(onboarding, 'production');
  const rows = [
    { name: 'key', isDone: findStepState(onboarding, 'production_key') === 'done', text: t('going.key') },
    { name: 'payments', isDone: payments === 'enabled', text: t(`going.payments.${payments}`) },
    { name: 'call', isDone: findStepState(onboarding, 'live') === 'done', text: t('going.call') },
  ];
  return <CheckList rows={rows} />;
}

interface LiveActionsProps {
  readonly onboarding: Onboarding;
  readonly onRequest: RequestPayments;
}

/** Shows the next actions for going live. */
export function LiveActions({ onboarding, onRequest }: LiveActionsProps) {
  const { t } = useTranslation('onboarding');
  const curl = useCurl('production');
  const needsRequest = getPaymentsState(onboarding, 'production') === 'missing';
  return (
    <Stack gap="sm" w="100%" mt={4}>
      {needsRequest && (
        <Group>
          <RequestProduction onRequest={onRequest} />
        </Group>
      )}
      <CodeBlock label={t('going.command')} code={buildFirstCall(curl)} />
      <CaFileNote />
    </Stack>
  );
}
