import type { Environment } from '../../../../src/kernel/environment.ts';
import { useSessionControls } from './session.tsx';

/** As it is called in commands. */
export const CA_FILE = 'ca.pem';

/** Certificate that clients of the service have to trust, PEM; undefined where they do already. */
export const useCaCertificate = (): string | undefined => useSessionControls().visit?.authority ?? undefined;

/** How a command begins that calls the interface in an environment, up to the path: `curl https://…`. */
export function useCurl(environment: Environment): string {
  const { visit } = useSessionControls();
  const url = visit?.environments.find(({ name }) => name === environment)?.url.replace(/\/$/, '') ?? '';
  return `curl ${useCaCertificate() === undefined ? '' : `--cacert ${CA_FILE} `}${url}`;
}
