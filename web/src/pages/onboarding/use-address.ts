import type { Environment } from '../../../../src/kernel/environment.ts';
import { useVisit } from '../../session/session.tsx';

/** Of the interface in an environment. */
export function useAddress(environment: Environment): string {
  const { visit } = useVisit();
  return visit?.environments.find(({ name }) => name === environment)?.url.replace(/\/$/, '') ?? '';
}
