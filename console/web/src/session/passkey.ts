import { startAuthentication, startRegistration, WebAuthnError } from '@simplewebauthn/browser';
import type { Json } from '../../../../src/kernel/json.ts';
import { CallError } from '../api/call.ts';

/** WebAuthn JSON, which only the browser and the service interpret. */
type Credential = { readonly [key: string]: Json };

export const canUsePasskeys = (): boolean => 'PublicKeyCredential' in window;

/** Returns true when the user closed the browser's dialog or let it time out. */
const isCancelled = (error: unknown): boolean => {
  const cause = error instanceof WebAuthnError ? error.cause : error;
  return cause instanceof Error && (cause.name === 'NotAllowedError' || cause.name === 'AbortError');
};

async function runCeremony<T>(ceremony: () => Promise<T>): Promise<Credential> {
  try {
    return (await ceremony()) as Credential;
  } catch (error) {
    const isRegistered = error instanceof WebAuthnError && error.code === 'ERROR_AUTHENTICATOR_PREVIOUSLY_REGISTERED';
    if (isRegistered) throw new CallError('passkey_known', 0, '');
    throw new CallError(isCancelled(error) ? 'cancelled' : 'passkey_failed', 0, '');
  }
}

export const authenticateWithPasskey = (options: Json): Promise<Credential> =>
  runCeremony(() => startAuthentication({ optionsJSON: options as never }));

export const registerPasskey = (options: Json): Promise<Credential> =>
  runCeremony(() => startRegistration({ optionsJSON: options as never }));
