import { useTranslation } from 'react-i18next';
import { listApprovals } from '../../../wire/approvals.ts';
import { listActivationRequests } from '../../../wire/onboarding.ts';
import { useRead } from '../api/hooks.ts';
import classes from './navigation.module.css';
import type { Place } from './places.ts';
import { useWhere } from './where.ts';

const EVERY_MS = 60_000;

interface WaitingProps {
  readonly of: Place['waiting'];
  /** What the link of the place is described by. */
  readonly id: string;
}

/** How much of a place waits for somebody, beside its name: changes for a second person, requests for the operator. */
export function Waiting({ of, id }: WaitingProps) {
  const { membership } = useWhere();
  if (of === 'requests') return <Requests id={id} />;
  // Who only reads them is waited for by nobody.
  if (of !== 'approvals' || !membership?.capabilities.includes('approvals:decide')) return null;
  return <Approvals id={id} account={membership.account} />;
}

function Approvals({ id, account }: { readonly id: string; readonly account: string }) {
  const { data } = useRead(listApprovals, { params: { account } }, { every: EVERY_MS });
  return <Count id={id} count={data?.approvals.filter(({ status }) => status === 'waiting').length} />;
}

function Requests({ id }: { readonly id: string }) {
  const { data } = useRead(listActivationRequests, {}, { every: EVERY_MS });
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
