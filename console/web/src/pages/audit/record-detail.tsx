import { Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { CopyField } from '../../parts/copy.tsx';
import { Details } from '../../parts/details.tsx';
import { numberText } from '../../parts/number.ts';
import type { AuditRecord } from './action-text.ts';
import { type DetailWords, useDetailWords } from './detail-words.ts';
import { Raw } from './raw.tsx';

/** All else that a record holds. */
export function RecordDetail({ record }: { readonly record: AuditRecord }) {
  const { t, i18n } = useTranslation('audit');
  const words = useDetailWords();
  const { lane, sequence, address, request_id, actor_id, actor_source, targets, detail, hash } = record;
  const copied = (label: string, value: string | null) =>
    value === null ? undefined : { label, value: <CopyField value={value} what={label} /> };
  return (
    <Details
      items={[
        ...detail.map(({ name, value }) => detailItem(words, name, value)),
        targets.length === 0
          ? undefined
          : {
              label: t('detail.targets'),
              value: (
                <Stack gap={2}>
                  {targets.map((target) => (
                    <CopyField key={target} value={target} what={t('detail.targets')} />
                  ))}
                </Stack>
              ),
            },
        copied(t('detail.address'), address),
        copied(t('detail.actorId'), actor_id),
        isSource(actor_source)
          ? { label: t('detail.actorSource'), value: t(`actorSource.${actor_source}`) }
          : undefined,
        copied(t('detail.request'), request_id),
        { label: t('detail.place'), value: t('places.record', { lane, record: numberText(sequence, i18n.language) }) },
        copied(t('detail.hash'), hash),
      ]}
    />
  );
}

const SOURCES = ['setting', 'os-user'] as const;

const isSource = (source: string | null): source is (typeof SOURCES)[number] =>
  (SOURCES as readonly (string | null)[]).includes(source);

const detailItem = (words: DetailWords, name: string, value: string) => ({
  name,
  label: words.name(name) ?? <Raw>{name}</Raw>,
  value: words.value(name, value) ?? <Raw>{value}</Raw>,
});
