import { Alert, Stack, Tabs, Text } from '@mantine/core';
import { Info } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { CodeBlock } from '../../parts/code-block.tsx';
import { Panel } from '../../parts/panel.tsx';
import { useVisit } from '../../session/session.tsx';
import { commandsFor } from './commands.ts';
import type { Onboarding } from './state.ts';

const TABS = ['card', 'capture', 'payment'] as const;
/** Years that the test card is good for. */
const AHEAD = 3;

/** The first calls, ready to copy. */
export function TryPanel({ payments }: { readonly payments: Onboarding['payments'] }) {
  const { t } = useTranslation('onboarding');
  const { visit } = useVisit();
  const base = visit?.environments.find(({ name }) => name === 'sandbox')?.url.replace(/\/$/, '') ?? '';
  const commands = commandsFor(base, new Date().getFullYear() + AHEAD);
  const isEnabled = payments.some(({ environment, enabled }) => environment === 'sandbox' && enabled);
  return (
    <div id="commands">
      <Panel title={t('commands.title')} description={t('commands.text')}>
        <CodeBlock label={t('commands.key')} code={commands.key} />
        <Tabs defaultValue="card" keepMounted={false}>
          <Tabs.List mb="sm">
            {TABS.map((tab) => (
              <Tabs.Tab key={tab} value={tab}>
                {t(`commands.${tab}`)}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          {TABS.map((tab) => (
            <Tabs.Panel key={tab} value={tab}>
              <Stack gap="sm">
                {tab === 'payment' && !isEnabled && (
                  <Alert color="yellow" icon={<Info size={18} aria-hidden />}>
                    {t('commands.paymentsOff')}
                  </Alert>
                )}
                <CodeBlock label={t(`commands.${tab}`)} code={commands[tab]} />
              </Stack>
            </Tabs.Panel>
          ))}
        </Tabs>
        <Text size="sm" c="dimmed">
          {t('commands.certificate')}
        </Text>
      </Panel>
    </div>
  );
}
