import { Alert, Tabs } from '@mantine/core';
import { Info } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { CaFileNote } from '../../parts/ca-file-note.tsx';
import { CodeBlock } from '../../parts/code-block.tsx';
import { Panel } from '../../parts/panel.tsx';
import { useCurl } from '../../session/api-access.ts';
import { buildCommands } from './commands.ts';
import type { Onboarding } from './onboarding-state.ts';

const TABS = ['card', 'capture', 'payment'] as const;
/** Years until the test card expires. */
const CARD_YEARS_AHEAD = 3;

/** Shows the first calls, ready to copy. */
export function TryPanel({ payments }: { readonly payments: Onboarding['payments'] }) {
  const { t } = useTranslation('onboarding');
  const commands = buildCommands(useCurl('sandbox'), new Date().getFullYear() + CARD_YEARS_AHEAD);
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
        <CaFileNote />
      </Panel>
    </div>
  );
}
