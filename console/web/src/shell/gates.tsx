import { Outlet, useParams } from 'react-router';
import { NotFoundPage } from '../pages.ts';
import { useSession } from '../session/session.tsx';
import { isEnvironment } from '../session/tenant.ts';
import { Forbidden } from './forbidden.tsx';
import { useNavigation } from './navigation-context.ts';

/** Shows the pages of an account to its members. */
export function AccountGate() {
  const { account } = useParams();
  const { memberships } = useSession();
  // Unknown and foreign accounts look the same.
  return memberships.some((each) => each.account === account) ? <Allowed /> : <NotFoundPage />;
}

/** The service enforces roles; this replaces a page full of errors. */
function Allowed() {
  const { membership, item } = useNavigation();
  const isAllowed = item?.capability === undefined || membership?.capabilities.includes(item.capability);
  return isAllowed ? <Outlet /> : <Forbidden />;
}

export function EnvironmentGate() {
  return isEnvironment(useParams()['environment']) ? <Outlet /> : <NotFoundPage />;
}

export function OperatorGate() {
  return useSession().is_operator ? <Outlet /> : <NotFoundPage />;
}
