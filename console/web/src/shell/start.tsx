import { Users } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { Navigate } from 'react-router';
import { EmptyState } from '../parts/empty-state.tsx';
import { useSession } from '../session/session.tsx';
import type { Membership } from '../session/tenant.ts';
import { defaultEnvironment } from './navigation-context.ts';

/** Returns the first page of an account. */
export const getHomePath = (membership: Membership): string => {
  const base = `/a/${membership.account}`;
  if (membership.status === 'onboarding') return `${base}/onboarding`;
  return `${base}/${defaultEnvironment(membership)}/overview`;
};

/** Redirects to the user's first page. */
export function Start() {
  const { t } = useTranslation();
  const { memberships, is_operator } = useSession();
  const [first] = memberships;
  if (first !== undefined) return <Navigate to={getHomePath(first)} replace />;
  if (is_operator) return <Navigate to="/operator/accounts" replace />;
  return (
    <EmptyState icon={Users} title={t('noAccounts')} order={1}>
      {t('noAccountsHint')}
    </EmptyState>
  );
}
