import type { Origin } from '../../src/audit/audit.ts';
import type { Random } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { subscriberNetwork } from '../../src/kernel/network.ts';
import { truncatePans } from '../../src/kernel/pan.ts';
import { hashSecret, isSecret, newSecret } from './sealing.ts';
import type { Source } from './sign-in-state.ts';

/** The client of a request. */
export interface ClientContext {
  readonly address: string;
  /** Untrusted text of the browser. */
  readonly userAgent: string;
  /** Secret of the cookie that makes the browser known; see `IssuedSession`. */
  readonly browser?: string | undefined;
  readonly requestId?: string;
}

/** The WebAuthn relying party. */
export interface RelyingParty {
  /** Host name. */
  readonly id: string;
  /** Shown by browsers. */
  readonly name: string;
  /** `https://localhost:8445` */
  readonly origin: string;
}

const requestOrigin = ({ address, requestId }: ClientContext): Omit<Origin, 'actor'> => ({
  address,
  ...(requestId !== undefined && { requestId }),
});

/** Returns the actor for audit records, with the user's name and never the email. */
export const personOrigin = ({ id, name }: { id: string; name: string }, client: ClientContext): Origin => ({
  actor: { type: 'person', id, name },
  ...requestOrigin(client),
});

/** Returns the origin of a request without authentication. */
export const anonymousOrigin = (client: ClientContext): Origin => ({
  actor: { type: 'unknown' },
  ...requestOrigin(client),
});

/** Returns the source of a sign-in attempt for this user. */
export function toSource(person: string, { address, browser }: Pick<ClientContext, 'address' | 'browser'>): Source {
  const network = subscriberNetwork(address);
  if (browser === undefined || !isSecret(browser)) return { network, browser: undefined };
  const digest = hashSecret('browser', person, browser);
  return { network, browser: Buffer.from(digest).toString('base64url') };
}

/** Returns the secret of the browser, or a new one. One secret makes a browser known for several users, each by its own digest. */
export const browserSecret = (random: Random, { browser }: ClientContext): string =>
  browser !== undefined && isSecret(browser) ? browser : newSecret(random);

/** Makes a user agent safe to store and show: no control characters, no lone surrogate, card numbers truncated. */
export const sanitizeUserAgent = ({ userAgent }: ClientContext): string =>
  [...truncatePans(userAgent.replace(/\p{Cc}/gu, ' ').toWellFormed())].slice(0, LIMITS.userAgentCharacters).join('');
