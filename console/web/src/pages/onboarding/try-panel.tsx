import { Alert, Anchor, Stack, Tabs } from '@mantine/core';
import { Info } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { CaFileNote } from '../../parts/ca-file-note.tsx';
import { CodeBlock } from '../../parts/code-block.tsx';
import { buildCaptureCall, buildCardCall, buildPaymentCall } from '../../parts/curl-commands.ts';
import { Panel } from '../../parts/panel.tsx';
import { useCurl } from '../../session/api-access.ts';
import { useCan, useMembership } from '../../session/tenant.ts';
import type { Onboarding } from './onboarding-state.ts';

const TABS = ['card', 'capture', 'payment'] as const;
const BUILDERS = { card: buildCardCall, capture: buildCaptureCall, payment: buildPaymentCall } as const;

/** Shows the first calls, ready to copy. */
export function TryPanel({ payments }: { readonly payments: Onboarding['payments'] }) {
  const { t } = useTranslation('onboarding');
  const curl = useCurl('sandbox');
  const { account } = useMembership();
  const mayTest = useCan()('workbench:use');
  const isEnabled = payments.some(({ environment, enabled }) => environment === 'sandbox' && enabled);
  return (
    <div id="commands">
      <Panel title={t('commands.title')} description={t('commands.text')}>
        <CodeBlock label={t('commands.key')} code="KEY=cv_sandbox_…" />
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
                <Stack gap="xs">
                  <CodeBlock label={t(`commands.${tab}`)} code={BUILDERS[tab](curl)} />
                  {tab === 'payment' && mayTest && (
                    <Anchor component={Link} to={`/a/${account}/sandbox/test-payment`} size="sm" w="fit-content">
                      {t('commands.sendTest')}
                    </Anchor>
                  )}
                </Stack>
              )}
            </Tabs.Panel>
          ))}
        </Tabs>
        <CaFileNote />
      </Panel>
    </div>
  );
}
