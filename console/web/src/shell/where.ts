import { createContext, use, useEffect, useRef } from 'react';
import { useLocation } from 'react-router';
import type { Environment } from '../../../../src/kernel/environment.ts';
import { type Session, useSession } from '../session/session.tsx';
import { isEnvironment, type Membership } from '../session/tenant.ts';
import { ACCOUNT_PLACES, ENVIRONMENT_PLACES, OPERATOR_PLACES, type Place } from './places.ts';

/** Where in the console the person is. */
export interface Where {
  readonly area: 'account' | 'operator' | 'person';
  /** The account in the address, else the one before. */
  readonly membership: Membership | undefined;
  /** The environment in the address. */
  readonly environment: Environment | undefined;
  /** The environment in the address, else the one before. */
  readonly lastEnvironment: Environment;
  readonly place: Place | undefined;
  /** Behind the place in the address, as the id of a record. */
  readonly record: string | undefined;
}

export const WhereContext = createContext<Where | undefined>(undefined);

export function useWhere(): Where {
  const where = use(WhereContext);
  if (where === undefined) throw new Error('not within the shell');
  return where;
}

/** The pages of an environment that this person may see. */
export const placesOf = (places: readonly Place[], membership: Membership, environment?: Environment): Place[] =>
  places.filter(
    ({ capability, only }) =>
      (capability === undefined || membership.capabilities.includes(capability)) &&
      (only === undefined || environment === undefined || only === environment),
  );

/** Which environment somebody sees first. */
export const firstEnvironment = (membership: Membership | undefined): Environment =>
  membership?.status === 'live' ? 'production' : 'sandbox';

interface Memory {
  readonly account: string | undefined;
  readonly environment: Environment | undefined;
}

/** Outlives a reload, and ends with the tab. */
const KEPT = 'last-environment';

function readKept(): Memory {
  try {
    const [account, environment] = (sessionStorage.getItem(KEPT) ?? '').split('/');
    if (isEnvironment(environment)) return { account, environment };
  } catch {
    // A browser may keep nothing.
  }
  return { account: undefined, environment: undefined };
}

function keep(account: string, environment: Environment): void {
  try {
    sessionStorage.setItem(KEPT, `${account}/${environment}`);
  } catch {
    // Then it is forgotten with the page.
  }
}

function read(pathname: string, session: Session, memory: Memory): Where {
  const [area, second, third, fourth, fifth] = pathname.split('/').slice(1).map(decode);
  const membershipOf = (account: string | undefined) => session.memberships.find((each) => each.account === account);
  const before = membershipOf(memory.account) ?? session.memberships[0];
  if (area === 'operator') {
    const place = OPERATOR_PLACES.find(({ path }) => path === second);
    return { ...at(before, memory), area: 'operator', place, record: third };
  }
  if (area !== 'a') return { ...at(before, memory), area: 'person', place: undefined, record: undefined };
  const membership = membershipOf(second);
  if (!isEnvironment(third)) {
    const place = ACCOUNT_PLACES.find(({ path }) => path === third);
    return { ...at(membership, memory), area: 'account', place, record: fourth };
  }
  const place = ENVIRONMENT_PLACES.find(({ path }) => path === fourth);
  return { area: 'account', membership, environment: third, lastEnvironment: third, place, record: fifth };
}

const at = (membership: Membership | undefined, memory: Memory) => ({
  membership,
  environment: undefined,
  // Of another account it says nothing.
  lastEnvironment:
    membership !== undefined && membership.account === memory.account && memory.environment !== undefined
      ? memory.environment
      : firstEnvironment(membership),
});

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** By the address; what it does not say is as it was before. */
export function useReadWhere(): Where {
  const { pathname } = useLocation();
  const session = useSession();
  const memory = useRef<Memory>(undefined);
  memory.current ??= readKept();
  const where = read(pathname, session, memory.current);
  const account = where.membership?.account;
  memory.current = { account, environment: where.lastEnvironment };
  // Only where somebody went: where they would begin can change.
  const { environment } = where;
  useEffect(() => {
    if (account !== undefined && environment !== undefined) keep(account, environment);
  }, [account, environment]);
  return where;
}
