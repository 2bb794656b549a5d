import { Alert, Checkbox, Stack, Text } from '@mantine/core';
import { TriangleAlert } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import type { WorkbenchState } from './use-workbench.ts';

/** Warns before a card number of a person is sent. It is only on the page: nothing stores or logs it. */
export function CardWarning({ bench }: { readonly bench: WorkbenchState }) {
  const { t } = useTranslation('workbench');
  const { hasCard, isTestCard, setTestCard, fault } = bench;
  if (!hasCard) return null;
  return (
    <Alert role="alert" color="red" icon={<TriangleAlert size={18} aria-hidden />} title={t('card.title')}>
      <Stack gap="sm">
        <Text size="sm">{t('card.text')}</Text>
        <Checkbox
          label={t('card.isTest')}
          checked={isTestCard}
          onChange={(event) => setTestCard(event.currentTarget.checked)}
          error={fault === 'card' && !isTestCard ? t('card.fault') : undefined}
        />
      </Stack>
    </Alert>
  );
}
