import { createContext, use, useEffect, useRef } from 'react';
import { useLocation } from 'react-router';
import type { Environment } from '../../../../src/kernel/environment.ts';
import { type Session, useSession } from '../session/session.tsx';
import { isEnvironment, type Membership } from '../session/tenant.ts';
import { ACCOUNT_ITEMS, ENVIRONMENT_ITEMS, type NavItem, OPERATOR_ITEMS } from './nav-items.ts';

/** Where in the console the person is. */
export interface NavigationState {
  readonly area: 'account' | 'operator' | 'person';
  /** The account in the address, else the one before. */
  readonly membership: Membership | undefined;
  /** The environment in the address. */
  readonly environment: Environment | undefined;
  /** The environment in the address, else the one before. */
  readonly lastEnvironment: Environment;
  readonly item: NavItem | undefined;
  /** Behind the place in the address, as the id of a record. */
  readonly recordId: string | undefined;
}

export const NavigationContext = createContext<NavigationState | undefined>(undefined);

export function useNavigation(): NavigationState {
  const state = use(NavigationContext);
  if (state === undefined) throw new Error('not within the shell');
  return state;
}

/** The pages of an environment that this person may see. */
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

/** Which environment somebody sees first. */
export const defaultEnvironment = (membership: Membership | undefined): Environment =>
  membership?.status === 'live' ? 'production' : 'sandbox';

interface LastEnvironment {
  readonly account: string | undefined;
  readonly environment: Environment | undefined;
}

/** Outlives a reload, and ends with the tab. */
const STORAGE_KEY = 'last-environment';

function loadLastEnvironment(): LastEnvironment {
  try {
    const [account, environment] = (sessionStorage.getItem(STORAGE_KEY) ?? '').split('/');
    if (isEnvironment(environment)) return { account, environment };
  } catch {
    // A browser may keep nothing.
  }
  return { account: undefined, environment: undefined };
}

function storeLastEnvironment(account: string, environment: Environment): void {
  try {
    sessionStorage.setItem(STORAGE_KEY, `${account}/${environment}`);
  } catch {
    // Then it is forgotten with the page.
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
  if (area !== 'a')
    return { ...atLastEnvironment(lastMembership, last), area: 'person', item: undefined, recordId: undefined };
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
  // Of another account it says nothing.
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

/** By the address; what it does not say is as it was before. */
export function useTrackedNavigation(): NavigationState {
  const { pathname } = useLocation();
  const session = useSession();
  const last = useRef<LastEnvironment>(undefined);
  last.current ??= loadLastEnvironment();
  const state = parseLocation(pathname, session, last.current);
  const account = state.membership?.account;
  last.current = { account, environment: state.lastEnvironment };
  // Only where somebody went: where they would begin can change.
  const { environment } = state;
  useEffect(() => {
    if (account !== undefined && environment !== undefined) storeLastEnvironment(account, environment);
  }, [account, environment]);
  return state;
}
