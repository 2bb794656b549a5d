import { Alert, Button, ColorInput, Grid, Group, NativeSelect, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { ExternalLink, Info } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { VariableName } from '../../../../../src/capture-sessions/appearance.ts';
import { tryCardForm } from '../../../../wire/card-form.ts';
import { useChange } from '../../api/hooks.ts';
import { CodeBlock } from '../../parts/code-block.tsx';
import { buildRequest } from '../../parts/curl-commands.ts';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { Panel } from '../../parts/panel.tsx';
import { useCurl } from '../../session/api-access.ts';
import { useTenant } from '../../session/tenant.ts';
import { FormPreview } from './form-preview.tsx';
import {
  CHOICES,
  type Choice,
  type FormValues,
  isFaulty,
  STANDARD,
  toPageCode,
  toSession,
  toSessionBody,
  VARIABLE_NAMES,
  VARIABLES,
} from './form-values.ts';

/** Chooses how the form looks, shows it, and gives the code that shows it like that. `origin`: null when it is not served. */
export function AppearanceEditor({ origin }: { readonly origin: string | null }) {
  const { t } = useTranslation('cardForm');
  const { account } = useTenant();
  const [values, setValues] = useState<FormValues>(STANDARD);
  const trial = useChange(tryCardForm);
  const set = (name: keyof FormValues, value: string): void => setValues({ ...values, [name]: value });
  const looks = toSession(values);
  const { locale, appearance } = looks;
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
  const variable = (name: VariableName) => {
    const field = {
      label: t(`editor.${name}`),
      value: values[name],
      error: isFaulty(values, name) && t(`faults.${toFault(name)}`),
    };
    return VARIABLES[name] === 'text' ? (
      <TextInput key={name} {...field} onChange={(event) => set(name, event.currentTarget.value)} />
    ) : (
      <ColorInput
        key={name}
        {...field}
        format="hex"
        fixOnBlur={false}
        onChange={(color) => set(name, color)}
        eyeDropperButtonProps={{ 'aria-label': t('editor.pick') }}
        attributes={{
          // The library overwrites the label of this one.
          saturation: { title: t('editor.saturation') },
          slider: { 'aria-label': t('editor.hue') },
        }}
        popoverProps={{ withinPortal: false }}
      />
    );
  };
  return (
    <Grid gap="md">
      <Grid.Col span={{ base: 12, lg: 5 }}>
        <Panel title={t('editor.title')} description={t('editor.text')}>
          <Stack gap="sm">
            {(Object.keys(CHOICES) as Choice[]).map(select)}
            <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm" verticalSpacing="sm">
              {VARIABLE_NAMES.map(variable)}
            </SimpleGrid>
          </Stack>
        </Panel>
      </Grid.Col>
      <Grid.Col span={{ base: 12, lg: 7 }}>
        <Stack gap="md">
          <Panel title={t('preview.title')} description={t('preview.text')}>
            {origin === null ? (
              <Alert color="yellow" icon={<Info size={18} aria-hidden />}>
                {t('editor.notServed')}
              </Alert>
            ) : (
              <Stack gap="sm">
                <FormPreview origin={origin} looks={looks} />
                <Group>
                  <Button
                    variant="default"
                    leftSection={<ExternalLink size={16} aria-hidden />}
                    loading={trial.isPending}
                    onClick={open}
                  >
                    {t('editor.open')}
                  </Button>
                </Group>
              </Stack>
            )}
            {trial.error !== null && <ErrorAlert error={trial.error} />}
          </Panel>
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
        </Stack>
      </Grid.Col>
    </Grid>
  );
}

/** The rule that a variable breaks. */
function toFault(name: VariableName): 'fontFamily' | 'fontSize' | 'size' | 'color' {
  if (name === 'fontFamily' || name === 'fontSize') return name;
  return VARIABLES[name] === 'color' ? 'color' : 'size';
}
