import { Alert, Button, Stack, Text, Tooltip } from '@mantine/core';
import type { UseMutationResult } from '@tanstack/react-query';
import { Download, ScrollText, ShieldCheck, ShieldX } from 'lucide-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { verifyAudit } from '../../../../wire/audit.ts';
import type { CallError } from '../../api/call.ts';
import type { ReadList } from '../../api/pages.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { formatNumber } from '../../parts/number.ts';
import { PageHeader } from '../../parts/page-header.tsx';
import { useReasonText } from '../../parts/reason-text.ts';
import { SearchedTable } from '../../parts/searched-table.tsx';
import type { useSortOrder } from '../../parts/sort-order.ts';
import type { AuditPage, AuditRecord } from './action-text.ts';
import { AuditFilters } from './audit-filters.tsx';
import { useAuditTable } from './audit-table.tsx';
import type { useAuditFilters } from './filters.ts';

type Verification = ValueOf<typeof verifyAudit.data>;
type Verify = Pick<
  UseMutationResult<Verification, CallError, object>,
  'mutate' | 'data' | 'error' | 'isPending' | 'reset'
>;

interface AuditLogProps {
  readonly title: string;
  readonly description: string;
  readonly filters: ReturnType<typeof useAuditFilters>;
  readonly list: ReadList<AuditPage, AuditRecord>;
  readonly sort: ReturnType<typeof useSortOrder>;
  readonly verify: Verify;
  readonly onVerify: () => void;
  /** Address of the export, which ignores filters. */
  readonly exportPath: string;
  readonly exportHint: string;
  /** Saved views and the export of what the filters show. */
  readonly actions?: ReactNode;
  /** Additional filters. */
  readonly children?: ReactNode;
}

/** Shows the audit log of an account or of the service. */
export function AuditLog(props: AuditLogProps) {
  const { t } = useTranslation('audit');
  const { filters, list, sort, verify } = props;
  const texts = t('empty', { returnObjects: true });
  return (
    <>
      <PageHeader title={props.title} description={props.description} hasTimes actions={<Actions {...props} />} />
      <VerifyResult verify={verify} />
      <AuditFilters {...filters} onRepeat={list.refresh}>
        {props.children}
      </AuditFilters>
      <SearchedTable
        {...useAuditTable()}
        list={list}
        filters={filters}
        sort={{ column: 'at', ...sort }}
        texts={texts}
        empty={
          <EmptyState icon={ScrollText} title={texts.title}>
            {texts.text}
          </EmptyState>
        }
      />
    </>
  );
}

function Actions({ verify, onVerify, exportPath, exportHint, actions }: AuditLogProps) {
  const { t } = useTranslation('audit');
  return (
    <>
      {actions}
      <Tooltip label={t('verifyHint')}>
        <Button
          variant="default"
          leftSection={<ShieldCheck size={16} aria-hidden />}
          onClick={onVerify}
          loading={verify.isPending}
        >
          {t('verify')}
        </Button>
      </Tooltip>
      <Tooltip label={exportHint}>
        <Button
          component="a"
          href={exportPath}
          download="audit.jsonl"
          variant="default"
          leftSection={<Download size={16} aria-hidden />}
        >
          {t('export')}
        </Button>
      </Tooltip>
    </>
  );
}

function VerifyResult({ verify: { data, error, isPending, reset } }: { readonly verify: Verify }) {
  const { t, i18n } = useTranslation('audit');
  const reasonText = useReasonText();
  if (error !== null)
    return (
      <Stack mb="md">
        <ErrorAlert error={error} />
      </Stack>
    );
  if (data === undefined || isPending) return null;
  const number = formatNumber(data.records, i18n.language);
  const checkpoints = formatNumber(data.checkpoints, i18n.language);
  return (
    <Alert
      mb="md"
      color={data.ok ? 'teal' : 'red'}
      role={data.ok ? 'status' : 'alert'}
      icon={data.ok ? <ShieldCheck size={18} aria-hidden /> : <ShieldX size={18} aria-hidden />}
      title={data.ok ? t('verified') : t('fault')}
      withCloseButton
      closeButtonLabel={t('closeResult')}
      onClose={reset}
    >
      <Text size="sm">
        {data.ok
          ? t('verifiedText', { count: data.records, number })
          : t('faultText', { fault: data.fault === null ? '' : reasonText(data.fault) })}
        {data.ok &&
          data.checkpoints > 0 &&
          ` ${t('verifiedCheckpoints', { count: data.checkpoints, number: checkpoints })}`}
      </Text>
    </Alert>
  );
}
