import type { Environment } from '../../../../src/kernel/environment.ts';
import { useVisit } from './session.tsx';

/** As it is called in commands. */
export const AUTHORITY_FILE = 'ca.pem';

/** Certificate that clients of the service have to trust, PEM; undefined where they do already. */
export const useAuthority = (): string | undefined => useVisit().visit?.authority ?? undefined;

/** How a command begins that calls the interface in an environment, up to the path: `curl https://…`. */
export function useCurl(environment: Environment): string {
  const { visit } = useVisit();
  const url = visit?.environments.find(({ name }) => name === environment)?.url.replace(/\/$/, '') ?? '';
  return `curl ${useAuthority() === undefined ? '' : `--cacert ${AUTHORITY_FILE} `}${url}`;
}
