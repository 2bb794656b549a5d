import { useParams } from 'react-router';
import { ENVIRONMENTS, type Environment } from '../../../../src/kernel/environment.ts';
import type { Capability } from '../../../people/roles.ts';
import { type Session, useSession } from './session.tsx';

export type Membership = Session['memberships'][number];

export const isEnvironment = (text: string | undefined): text is Environment =>
  (ENVIRONMENTS as readonly (string | undefined)[]).includes(text);

/** Returns the membership of the account in the address. */
export function useMembership(): Membership {
  const { account } = useParams();
  const found = useSession().memberships.find((membership) => membership.account === account);
  if (found === undefined) throw new Error('not in the account of the address');
  return found;
}

/**
 * Returns whether the user has a capability in the account of the address. The service enforces it; this decides what
 * to show.
 */
export function useCan(): (capability: Capability) => boolean {
  const { capabilities } = useMembership();
  return (capability) => capabilities.includes(capability);
}

/** Returns the account and environment of the address. */
export function useTenant(): { readonly account: string; readonly environment: Environment } {
  const { account, environment } = useParams();
  if (account === undefined || !isEnvironment(environment)) throw new Error('the address names no tenant');
  return { account, environment };
}
