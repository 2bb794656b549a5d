import { useParams } from 'react-router';
import { ENVIRONMENTS, type Environment } from '../../../../src/kernel/environment.ts';
import type { Capability } from '../../../people/roles.ts';
import { type Session, useSession } from './session.tsx';

export type Membership = Session['memberships'][number];

export const isEnvironment = (text: string | undefined): text is Environment =>
  (ENVIRONMENTS as readonly (string | undefined)[]).includes(text);

/** Of the account in the address. */
export function useMembership(): Membership {
  const { account } = useParams();
  const found = useSession().memberships.find((membership) => membership.account === account);
  if (found === undefined) throw new Error('not in the account of the address');
  return found;
}

/** May the person do this in the account of the address? The service decides; this says what to show. */
export function useCan(): (capability: Capability) => boolean {
  const { capabilities } = useMembership();
  return (capability) => capabilities.includes(capability);
}

/** The account and environment of the address. */
export function useTenant(): { readonly account: string; readonly environment: Environment } {
  const { account, environment } = useParams();
  if (account === undefined || !isEnvironment(environment)) throw new Error('the address names no tenant');
  return { account, environment };
}
