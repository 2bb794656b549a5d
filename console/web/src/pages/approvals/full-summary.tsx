import { Button, Group, Loader, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { showApproval } from '../../../../wire/approvals.ts';
import type { CallError } from '../../api/call.ts';
import { useRead } from '../../api/hooks.ts';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { useMembership } from '../../session/tenant.ts';
import type { Approval } from './approval.ts';
import { Summary } from './summary.tsx';

interface SummaryState {
  /** All lines; undefined while they load. */
  readonly lines: Approval['summary'] | undefined;
  readonly error: CallError | null;
  readonly retry: () => void;
}

/** Reads all lines of a change; lists hold only the first ones. They never change. */
export function useFullSummary(approval: Approval | undefined, isEnabled: boolean): SummaryState {
  const { account } = useMembership();
  const isTruncated = approval !== undefined && approval.more_lines > 0;
  const params = { account, id: approval?.id ?? '' };
  const { data, error, refetch } = useRead(showApproval, { params }, { enabled: isTruncated && isEnabled });
  return { lines: isTruncated ? data?.approval.summary : approval?.summary, error, retry: () => void refetch() };
}

export function FullSummary({ lines, error, retry }: SummaryState) {
  const { t } = useTranslation('approvals');
  if (lines !== undefined) return <Summary lines={lines} />;
  if (error !== null) return <ErrorAlert error={error} onRetry={retry} />;
  return (
    <Group gap="xs" role="status">
      <Loader size="xs" aria-hidden />
      <Text size="sm">{t('reading')}</Text>
    </Group>
  );
}

/** Shows the first lines, and all of them on request. */
export function ExpandableSummary({ approval }: { readonly approval: Approval }) {
  const { t } = useTranslation('approvals');
  const [isOpen, setOpen] = useState(false);
  const full = useFullSummary(approval, isOpen);
  if (isOpen) return <FullSummary {...full} />;
  return (
    <>
      <Summary lines={approval.summary} />
      {approval.more_lines > 0 && (
        <Button variant="default" size="compact-sm" onClick={() => setOpen(true)}>
          {t('moreLines', { count: approval.more_lines })}
        </Button>
      )}
    </>
  );
}
