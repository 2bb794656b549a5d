import { Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { showCapture } from '../../../../wire/records.ts';
import { CodeBlock } from '../../parts/code-block.tsx';
import { CopyField } from '../../parts/copy.tsx';
import { Details } from '../../parts/details.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Badge } from '../../parts/status-badge.tsx';
import { Time } from '../../parts/time.tsx';
import { TruncatedCard } from '../../parts/truncated-card.tsx';
import { SentAmount } from '../captures/sent-amount.tsx';
import { TimeLeft } from '../captures/time-left.tsx';
import { formatJson } from './format-json.ts';

type Capture = ValueOf<typeof showCapture.data>;

/** Shows a capture. An altered record shows only the columns outside its sealed part. */
export function CaptureDetails({ capture }: { readonly capture: Capture }) {
  const { t } = useTranslation('captures');
  const { id, is_altered, has_sad, created_at, expires_at } = capture;
  const sad = has_sad ? (
    <WithNote note={t('sensitiveTitle')}>
      <Badge tone="attention">{t('detail.keptYes')}</Badge>
    </WithNote>
  ) : (
    t('detail.keptNo')
  );
  const card = (
    <WithNote note={capture.card === null ? '' : t('detail.cardNote')}>
      <TruncatedCard card={capture.card} />
    </WithNote>
  );
  const amount = (
    <WithNote note={t('amountNote')}>
      <SentAmount {...capture} />
    </WithNote>
  );
  return (
    <>
      <Panel title={t('detail.facts')}>
        <Details
          items={[
            { label: t('detail.id'), value: <CopyField value={id} label={t('detail.id')} /> },
            { label: t('detail.left'), value: <TimeLeft until={expires_at} /> },
            is_altered ? undefined : { label: t('detail.card'), value: card },
            { label: t('detail.kept'), value: sad },
            { label: t('detail.amount'), value: amount },
            { label: t('detail.at'), value: <Time value={created_at} isRelative /> },
            { label: t('detail.ends'), value: <Time value={expires_at} /> },
          ]}
        />
      </Panel>
      {!is_altered && <AdditionalInfo text={capture.additional_info ?? '{}'} />}
    </>
  );
}

function WithNote({ note, children }: { readonly note: string; readonly children: ReactNode }) {
  return (
    <Stack gap={2} align="flex-start">
      {children}
      {note !== '' && (
        <Text size="xs" c="dimmed">
          {note}
        </Text>
      )}
    </Stack>
  );
}

function AdditionalInfo({ text }: { readonly text: string }) {
  const { t } = useTranslation('captures');
  const formatted = formatJson(text);
  return (
    <Panel title={t('detail.info')} description={t('detail.infoNote')}>
      {formatted === '{}' ? (
        <Text size="sm" c="dimmed">
          {t('detail.infoEmpty')}
        </Text>
      ) : (
        <CodeBlock label="JSON" code={formatted} maxHeight={480} />
      )}
    </Panel>
  );
}
