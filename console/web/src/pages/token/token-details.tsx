import { Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { CopyField } from '../../parts/copy.tsx';
import { Details } from '../../parts/details.tsx';
import { Time } from '../../parts/time.tsx';
import { TruncatedCard } from '../../parts/truncated-card.tsx';
import { Tags } from '../tokens/tags.tsx';
import type { TokenRow } from '../tokens/token-row.ts';
import classes from '../tokens/tokens.module.css';

const SCHEMES = { 1: 's1', 3: 's3', 7: 's7', 8: 's8' } as const;
const isKnownScheme = (scheme: number): scheme is keyof typeof SCHEMES => Object.hasOwn(SCHEMES, scheme);

/** Shows a token. An altered record shows only the columns outside its sealed part. */
export function TokenDetails({ row }: { readonly row: TokenRow }) {
  const { t } = useTranslation('tokens');
  const { token, scheme, is_altered } = row;
  const optional = (text: string | null) =>
    text === null ? <Text c="dimmed">{t('detail.none')}</Text> : <span className={classes['whole']}>{text}</span>;
  const schemeText = isKnownScheme(scheme)
    ? t(`detail.schemes.${SCHEMES[scheme]}`)
    : t('detail.schemes.other', { scheme });
  const lifetime = row.is_persistent ? t('detail.persistent') : t('detail.single');
  const cardItems = [
    { label: t('detail.card'), value: <Card card={row.card} /> },
    { label: t('detail.name'), value: optional(row.name) },
    { label: t('detail.expiration'), value: optional(row.expiration) },
  ];
  const metadataItems = [
    { label: t('detail.tags'), value: <Tags tags={row.tags} /> },
    { label: t('detail.by'), value: optional(row.created_by) },
  ];
  return (
    <Details
      items={[
        { label: t('detail.token'), value: <CopyField value={token} label={t('detail.token')} /> },
        ...(is_altered ? [] : cardItems),
        { label: t('detail.scheme'), value: schemeText },
        { label: t('detail.kind'), value: lifetime },
        ...(is_altered ? [] : metadataItems),
        { label: t('detail.at'), value: <Time value={row.created_at} isRelative /> },
      ]}
    />
  );
}

function Card({ card }: { readonly card: string }) {
  const { t } = useTranslation('tokens');
  return (
    <Stack gap={2}>
      <TruncatedCard card={card} />
      <Text size="xs" c="dimmed">
        {t('detail.cardNote')}
      </Text>
    </Stack>
  );
}
