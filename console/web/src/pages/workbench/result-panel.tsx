import { Alert, Anchor, Group, Stack, Text } from '@mantine/core';
import { CircleCheck, CircleX } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { CodeBlock } from '../../parts/code-block.tsx';
import { useErrorText } from '../../parts/error-alert.tsx';
import { formatNumber } from '../../parts/number.ts';
import { Panel } from '../../parts/panel.tsx';
import { Badge } from '../../parts/status-badge.tsx';
import { useTenant } from '../../session/tenant.ts';
import { faultPosition, type WorkbenchRun } from './workbench-run.ts';

const EXPLAINED_CODES = [
  'invalid_placeholder',
  'unknown_token',
  'unknown_capture',
  'proxy_not_configured',
  'access_denied',
  'invalid_field',
] as const;
type ExplainedCode = (typeof EXPLAINED_CODES)[number];

const isExplained = (code: string): code is ExplainedCode => (EXPLAINED_CODES as readonly string[]).includes(code);

interface ResultPanelProps {
  readonly outcome: WorkbenchRun | undefined;
}

export function ResultPanel({ outcome }: ResultPanelProps) {
  const { t, i18n } = useTranslation('workbench');
  return (
    <Panel
      title={t('result')}
      actions={
        outcome && (
          <Badge tone="quiet">
            {t('duration', { milliseconds: formatNumber(outcome.duration_ms, i18n.language) })}
          </Badge>
        )
      }
    >
      <div aria-live="polite">
        {outcome === undefined ? (
          <Text size="sm" c="dimmed">
            {t('resultEmpty')}
          </Text>
        ) : (
          <Stack gap="md">
            <ResultAlert outcome={outcome} />
            <CodeBlock label={t('response')} code={outcome.response} maxHeight={420} />
          </Stack>
        )}
      </div>
    </Panel>
  );
}

function ResultAlert({ outcome: { error, status } }: { readonly outcome: WorkbenchRun }) {
  const { t } = useTranslation('workbench');
  const errorText = useErrorText();
  const { account, environment } = useTenant();
  if (error === null) {
    return (
      <Alert color="teal" icon={<CircleCheck size={18} aria-hidden />}>
        {t('success', { status })}
      </Alert>
    );
  }
  const { code, explanation, field } = error;
  const position = faultPosition(error);
  return (
    <Alert color="red" icon={<CircleX size={18} aria-hidden />} title={t('failed', { status })}>
      <Stack gap={8}>
        <Text size="sm">{t(`guide.${isExplained(code) ? code : 'other'}`)}</Text>
        <Group gap={6}>
          {position !== undefined && <Badge tone="bad">{t('position', { ...position })}</Badge>}
          {field?.startsWith('/') && <Badge tone="quiet">{field.split(' ', 1)}</Badge>}
        </Group>
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {errorText({ code, message: '', explanation: explanation ?? undefined })}
        </Text>
        {code === 'proxy_not_configured' && (
          <Anchor component={Link} to={`/a/${account}/${environment}/proxy`} size="sm">
            {t('toProxy')}
          </Anchor>
        )}
      </Stack>
    </Alert>
  );
}
