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
const isKnown = (scheme: number): scheme is keyof typeof SCHEMES => Object.hasOwn(SCHEMES, scheme);

/** Everything that the vault tells of a token; a damaged one tells what stands beside its sealed part. */
export function TokenFacts({ row }: { readonly row: TokenRow }) {
  const { t } = useTranslation('tokens');
  const { token, scheme, is_damaged } = row;
  const given = (text: string | null) =>
    text === null ? <Text c="dimmed">{t('detail.none')}</Text> : <span className={classes['whole']}>{text}</span>;
  const form = isKnown(scheme) ? t(`detail.schemes.${SCHEMES[scheme]}`) : t('detail.schemes.other', { scheme });
  const kind = row.is_persistent ? t('detail.persistent') : t('detail.single');
  const sealed = [
    { label: t('detail.card'), value: <Card card={row.card} /> },
    { label: t('detail.name'), value: given(row.name) },
    { label: t('detail.expiration'), value: given(row.expiration) },
  ];
  const sealedToo = [
    { label: t('detail.tags'), value: <Tags tags={row.tags} /> },
    { label: t('detail.by'), value: given(row.created_by) },
  ];
  return (
    <Details
      items={[
        { label: t('detail.token'), value: <CopyField value={token} what={t('detail.token')} /> },
        ...(is_damaged ? [] : sealed),
        { label: t('detail.scheme'), value: form },
        { label: t('detail.kind'), value: kind },
        ...(is_damaged ? [] : sealedToo),
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
