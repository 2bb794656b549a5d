import { Alert, Button, ColorInput, Grid, Group, NativeSelect, Stack } from '@mantine/core';
import { ExternalLink, Info } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { tryCardForm } from '../../../../wire/card-form.ts';
import { useChange } from '../../api/hooks.ts';
import { CodeBlock } from '../../parts/code-block.tsx';
import { buildRequest } from '../../parts/curl-commands.ts';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { Panel } from '../../parts/panel.tsx';
import { useCurl } from '../../session/api-access.ts';
import { useTenant } from '../../session/tenant.ts';
import {
  CHOICES,
  type Choice,
  type FormValues,
  STANDARD,
  toPageCode,
  toSession,
  toSessionBody,
} from './form-values.ts';

/** Chooses how the form looks, opens it, and gives the code that shows it like that. `origin`: null when it is not served. */
export function AppearanceEditor({ origin }: { readonly origin: string | null }) {
  const { t } = useTranslation('cardForm');
  const { account } = useTenant();
  const [values, setValues] = useState<FormValues>(STANDARD);
  const trial = useChange(tryCardForm);
  const set = (name: keyof FormValues, value: string): void => setValues({ ...values, [name]: value });
  const { locale, appearance } = toSession(values);
  const open = (): void =>
    trial.mutate(
      {
        params: { account },
        // The page as it is, without what an earlier trial added.
        body: { return_url: window.location.origin + window.location.pathname, locale, appearance: appearance ?? {} },
      },
      { onSuccess: ({ url }) => window.location.assign(url) },
    );
  const select = (name: Choice) => (
    <NativeSelect
      key={name}
      label={t(`editor.${name}`)}
      data={CHOICES[name].map((value) => ({ value, label: t(`choices.${value === '' ? 'standard' : value}`) }))}
      value={values[name]}
      onChange={(event) => set(name, event.currentTarget.value)}
    />
  );
  return (
    <Grid gap="md">
      <Grid.Col span={{ base: 12, lg: 5 }}>
        <Panel title={t('editor.title')} description={t('editor.text')}>
          <Stack gap="sm">
            {(Object.keys(CHOICES) as Choice[]).map(select)}
            <ColorInput
              label={t('editor.colorPrimary')}
              format="hex"
              value={values.colorPrimary}
              onChange={(color) => set('colorPrimary', color)}
              eyeDropperButtonProps={{ 'aria-label': t('editor.pick') }}
            />
            {origin === null ? (
              <Alert color="yellow" icon={<Info size={18} aria-hidden />}>
                {t('editor.notServed')}
              </Alert>
            ) : (
              <Group>
                <Button leftSection={<ExternalLink size={16} aria-hidden />} loading={trial.isPending} onClick={open}>
                  {t('editor.open')}
                </Button>
              </Group>
            )}
            {trial.error !== null && <ErrorAlert error={trial.error} />}
          </Stack>
        </Panel>
      </Grid.Col>
      <Grid.Col span={{ base: 12, lg: 7 }}>
        <Panel title={t('code.title')} description={t('code.text')}>
          <CodeBlock
            label={t('code.server')}
            code={buildRequest({
              curl: useCurl('sandbox'),
              method: 'POST',
              path: '/v1/capture-sessions',
              keyHeader: 'x-api-key',
              contentType: 'application/json',
              body: JSON.stringify(toSessionBody(values), undefined, 2),
            })}
            maxHeight={320}
          />
          {origin !== null && <CodeBlock label={t('code.page')} code={toPageCode(origin)} maxHeight={320} />}
        </Panel>
      </Grid.Col>
    </Grid>
  );
}
