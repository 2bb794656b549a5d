import { Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useParams } from 'react-router';
import type { Block } from '../../../markdown.ts';
import { CallError } from '../../api/call.ts';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { useScrollToHash } from '../../parts/scroll-to-hash.ts';
import { NotFoundPage } from '../not-found/not-found-page.tsx';
import { Blocks } from './blocks.tsx';
import classes from './guide.module.css';
import { loadGuide } from './guide-files.ts';

const LANGUAGE = 'en';

/** Shows a document of the repository. */
export function GuidePage() {
  const { t, i18n } = useTranslation('guide');
  const { '*': name = '' } = useParams();
  const { data, error, refetch } = useQuery<readonly Block[] | null, CallError>({
    queryKey: ['guide', name],
    queryFn: async () => {
      try {
        return (await loadGuide(name)) ?? null;
      } catch {
        throw new CallError('offline', 0, '');
      }
    },
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  useScrollToHash(data !== undefined);
  if (data === null) return <NotFoundPage />;
  if (error !== null) return <ErrorAlert error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  const [first, ...blocks] = data;
  const title =
    first?.kind === 'heading' ? first.text.map((part) => (typeof part === 'string' ? part : '')).join('') : name;
  return (
    <>
      <PageHeader
        title={title}
        description={i18n.language === LANGUAGE ? undefined : <Text size="sm">{t('englishOnly')}</Text>}
      />
      <article lang={LANGUAGE} className={classes['guide']}>
        <Blocks blocks={blocks} />
      </article>
    </>
  );
}

const Loading = () => (
  <Stack gap="sm" aria-busy>
    <Skeleton height={32} width="40%" />
    <Skeleton height={16} />
    <Skeleton height={16} width="90%" />
  </Stack>
);
