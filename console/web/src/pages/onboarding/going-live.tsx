import { Group, Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { AuthorityNote } from '../../parts/authority-note.tsx';
import { CodeBlock } from '../../parts/code-block.tsx';
import { useCurl } from '../../session/interface.ts';
import { AskForProduction } from './ask-for-production.tsx';
import { CheckList } from './check-list.tsx';
import { firstCall } from './commands.ts';
import { type AskFor, type Onboarding, paymentsStateIn, stateOf } from './state.ts';

/** What there is of all that going live takes. */
export function GoingLive({ onboarding }: { readonly onboarding: Onboarding }) {
  const { t } = useTranslation('onboarding');
  const payments = paymentsStateIn(onboarding, 'production');
  const rows = [
    { name: 'key', isDone: stateOf(onboarding, 'production_key') === 'done', text: t('going.key') },
    { name: 'payments', isDone: payments === 'enabled', text: t(`going.payments.${payments}`) },
    { name: 'call', isDone: stateOf(onboarding, 'live') === 'done', text: t('going.call') },
  ];
  return <CheckList rows={rows} />;
}

interface GoLiveProps {
  readonly onboarding: Onboarding;
  readonly onAsk: AskFor;
}

/** What can be done about it now, and by whom. */
export function GoLive({ onboarding, onAsk }: GoLiveProps) {
  const { t } = useTranslation('onboarding');
  const curl = useCurl('production');
  const mustAsk = paymentsStateIn(onboarding, 'production') === 'missing';
  return (
    <Stack gap="sm" w="100%" mt={4}>
      {mustAsk && (
        <Group>
          <AskForProduction onAsk={onAsk} />
        </Group>
      )}
      <CodeBlock label={t('going.command')} code={firstCall(curl)} />
      <AuthorityNote />
    </Stack>
  );
}
