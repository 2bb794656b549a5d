import { Outlet, useParams } from 'react-router';
import { NotFoundPage } from '../pages.ts';
import { useSession } from '../session/session.tsx';
import { isEnvironment } from '../session/tenant.ts';
import { Forbidden } from './forbidden.tsx';
import { useNavigation } from './navigation-context.ts';

/** Pages of an account, for those who belong to it. */
export function AccountGate() {
  const { account } = useParams();
  const { memberships } = useSession();
  // The same answer whether there is such an account or not.
  return memberships.some((each) => each.account === account) ? <Allowed /> : <NotFoundPage />;
}

/** The service refuses what the role does not include; a page full of refusals would help nobody. */
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
