import { Alert, Tabs } from '@mantine/core';
import { Info } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { AuthorityNote } from '../../parts/authority-note.tsx';
import { CodeBlock } from '../../parts/code-block.tsx';
import { Panel } from '../../parts/panel.tsx';
import { useCurl } from '../../session/interface.ts';
import { commandsFor } from './commands.ts';
import type { Onboarding } from './state.ts';

const TABS = ['card', 'capture', 'payment'] as const;
/** Years that the test card is good for. */
const AHEAD = 3;

/** The first calls, ready to copy. */
export function TryPanel({ payments }: { readonly payments: Onboarding['payments'] }) {
  const { t } = useTranslation('onboarding');
  const commands = commandsFor(useCurl('sandbox'), new Date().getFullYear() + AHEAD);
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
              {tab === 'payment' && !isEnabled ? (
                <Alert color="yellow" icon={<Info size={18} aria-hidden />}>
                  {t('commands.paymentsOff')}
                </Alert>
              ) : (
                <CodeBlock label={t(`commands.${tab}`)} code={commands[tab]} />
              )}
            </Tabs.Panel>
          ))}
        </Tabs>
        <AuthorityNote />
      </Panel>
    </div>
  );
}
