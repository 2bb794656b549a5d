import { useTranslation } from 'react-i18next';
import { listApprovals } from '../../../wire/approvals.ts';
import { listActivationRequests } from '../../../wire/onboarding.ts';
import { useRead } from '../api/hooks.ts';
import type { NavItem } from './nav-items.ts';
import classes from './navigation.module.css';
import { useNavigation } from './navigation-context.ts';

const REFRESH_MS = 60_000;

interface PendingCountProps {
  readonly kind: NavItem['pending'];
  /** Id that describes the link. */
  readonly id: string;
}

/** Shows the number of pending items: approvals of an account, or requests for operators. */
export function PendingCount({ kind, id }: PendingCountProps) {
  const { membership } = useNavigation();
  if (kind === 'requests') return <PendingRequests id={id} />;
  // Users who cannot decide see no count.
  if (kind !== 'approvals' || !membership?.capabilities.includes('approvals:decide')) return null;
  return <PendingApprovals id={id} account={membership.account} />;
}

function PendingApprovals({ id, account }: { readonly id: string; readonly account: string }) {
  const { data } = useRead(listApprovals, { params: { account } }, { refetchIntervalMs: REFRESH_MS });
  return <Count id={id} count={data?.approvals.filter(({ status }) => status === 'waiting').length} />;
}

function PendingRequests({ id }: { readonly id: string }) {
  const { data } = useRead(listActivationRequests, {}, { refetchIntervalMs: REFRESH_MS });
  return <Count id={id} count={data?.requests.filter(({ request }) => request.status === 'requested').length} />;
}

function Count({ id, count = 0 }: { readonly id: string; readonly count: number | undefined }) {
  const { t } = useTranslation();
  if (count === 0) return null;
  return (
    <span id={id} className={classes['count']} role="img" aria-label={t('waiting', { count })}>
      {count}
    </span>
  );
}
