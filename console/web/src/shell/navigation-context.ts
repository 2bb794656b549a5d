import { createContext, use, useEffect, useRef } from 'react';
import { useLocation } from 'react-router';
import type { Environment } from '../../../../src/kernel/environment.ts';
import { type Session, useSession } from '../session/session.tsx';
import { isEnvironment, type Membership } from '../session/tenant.ts';
import { ACCOUNT_ITEMS, ENVIRONMENT_ITEMS, type NavItem, OPERATOR_ITEMS, PERSON_ITEMS } from './nav-items.ts';

/** Current position of the user in the console. */
export interface NavigationState {
  readonly area: 'account' | 'operator' | 'person';
  /** Account in the address, or the previous one. */
  readonly membership: Membership | undefined;
  /** Environment in the address. */
  readonly environment: Environment | undefined;
  /** Environment in the address, or the previous one. */
  readonly lastEnvironment: Environment;
  readonly item: NavItem | undefined;
  /** Record in the address. */
  readonly recordId: string | undefined;
}

export const NavigationContext = createContext<NavigationState | undefined>(undefined);

export function useNavigation(): NavigationState {
  const state = use(NavigationContext);
  if (state === undefined) throw new Error('not within the shell');
  return state;
}

/** Returns the items that the user may see in an environment. */
export const listVisibleItems = (
  items: readonly NavItem[],
  membership: Membership,
  environment?: Environment,
): NavItem[] =>
  items.filter(
    ({ capability, only }) =>
      (capability === undefined || membership.capabilities.includes(capability)) &&
      (only === undefined || environment === undefined || only === environment),
  );

/** Returns the environment to show first. */
export const defaultEnvironment = (membership: Membership | undefined): Environment =>
  membership?.status === 'live' ? 'production' : 'sandbox';

interface LastEnvironment {
  readonly account: string | undefined;
  readonly environment: Environment | undefined;
}

/** Key in the session storage, which survives a reload and ends with the tab. */
const STORAGE_KEY = 'last-environment';

function loadLastEnvironment(): LastEnvironment {
  try {
    const [account, environment] = (sessionStorage.getItem(STORAGE_KEY) ?? '').split('/');
    if (isEnvironment(environment)) return { account, environment };
  } catch {
    // Storage may be disabled.
  }
  return { account: undefined, environment: undefined };
}

function storeLastEnvironment(account: string, environment: Environment): void {
  try {
    sessionStorage.setItem(STORAGE_KEY, `${account}/${environment}`);
  } catch {
    // The value is lost with the page.
  }
}

function parseLocation(pathname: string, session: Session, last: LastEnvironment): NavigationState {
  const [area, second, third, fourth, fifth] = pathname.split('/').slice(1).map(decode);
  const membershipOf = (account: string | undefined) => session.memberships.find((each) => each.account === account);
  const lastMembership = membershipOf(last.account) ?? session.memberships[0];
  if (area === 'operator') {
    const item = OPERATOR_ITEMS.find(({ path }) => path === second);
    return { ...atLastEnvironment(lastMembership, last), area: 'operator', item, recordId: third };
  }
  if (area !== 'a') {
    const item = PERSON_ITEMS.find(({ path }) => path === area);
    return { ...atLastEnvironment(lastMembership, last), area: 'person', item, recordId: undefined };
  }
  const membership = membershipOf(second);
  if (!isEnvironment(third)) {
    const item = ACCOUNT_ITEMS.find(({ path }) => path === third);
    return { ...atLastEnvironment(membership, last), area: 'account', item, recordId: fourth };
  }
  const item = ENVIRONMENT_ITEMS.find(({ path }) => path === fourth);
  return { area: 'account', membership, environment: third, lastEnvironment: third, item, recordId: fifth };
}

const atLastEnvironment = (membership: Membership | undefined, last: LastEnvironment) => ({
  membership,
  environment: undefined,
  // The previous environment applies to its account only.
  lastEnvironment:
    membership !== undefined && membership.account === last.account && last.environment !== undefined
      ? last.environment
      : defaultEnvironment(membership),
});

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Derives the state from the address; missing parts keep their previous value. */
export function useTrackedNavigation(): NavigationState {
  const { pathname } = useLocation();
  const session = useSession();
  const last = useRef<LastEnvironment>(undefined);
  last.current ??= loadLastEnvironment();
  const state = parseLocation(pathname, session, last.current);
  const account = state.membership?.account;
  last.current = { account, environment: state.lastEnvironment };
  // Only visited environments are stored, because the default can change.
  const { environment } = state;
  useEffect(() => {
    if (account !== undefined && environment !== undefined) storeLastEnvironment(account, environment);
  }, [account, environment]);
  return state;
}
