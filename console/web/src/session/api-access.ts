import type { Environment } from '../../../../src/kernel/environment.ts';
import { useSessionControls } from './session.tsx';

/** File name in commands. */
export const CA_FILE = 'ca.pem';

/** Returns the CA certificate that clients have to trust, as PEM; undefined when they already do. */
export const useCaCertificate = (): string | undefined => useSessionControls().visit?.authority ?? undefined;

/** Returns the address of the API in an environment, without a slash at its end. */
export function useApiUrl(environment: Environment): string {
  const { visit } = useSessionControls();
  return visit?.environments.find(({ name }) => name === environment)?.url.replace(/\/$/, '') ?? '';
}

/** Returns the beginning of a command that calls the API in an environment: `curl https://…`. */
export function useCurl(environment: Environment): string {
  const url = useApiUrl(environment);
  return `curl ${useCaCertificate() === undefined ? '' : `--cacert ${CA_FILE} `}${url}`;
}
