import type { Origin } from '../../src/audit/audit.ts';
import type { Keyring } from '../../src/crypto/keyring.ts';
import type { Random } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { subscriberNetwork } from '../../src/kernel/network.ts';
import { truncatePans } from '../../src/kernel/pan.ts';
import { computeDigest, isSecret, newSecret } from './sealing.ts';
import type { Source } from './sign-in-state.ts';

/** From where a person comes. */
export interface ClientContext {
  readonly address: string;
  /** As the browser says it; anything. */
  readonly userAgent: string;
  /** Secret of the cookie that makes the browser known; see `Grant`. */
  readonly browser?: string | undefined;
  readonly requestId?: string;
}

/** The console, as passkeys know it. */
export interface RelyingParty {
  /** Its host name. */
  readonly id: string;
  /** What browsers show. */
  readonly name: string;
  /** `https://localhost:8445` */
  readonly origin: string;
}

const requestOrigin = ({ address, requestId }: ClientContext): Omit<Origin, 'actor'> => ({
  address,
  ...(requestId !== undefined && { requestId }),
});

/** Who acts, for the audit log: the name that a person goes by, never the e-mail address. */
export const personOrigin = ({ id, name }: { id: string; name: string }, client: ClientContext): Origin => ({
  actor: { type: 'person', id, name },
  ...requestOrigin(client),
});

/** Of somebody who has not shown who they are. */
export const anonymousOrigin = (client: ClientContext): Origin => ({
  actor: { type: 'unknown' },
  ...requestOrigin(client),
});

/** Where an attempt to sign in as this user comes from. */
export async function toSource(
  keyring: Keyring,
  person: string,
  { address, browser }: Pick<ClientContext, 'address' | 'browser'>,
): Promise<Source> {
  const network = subscriberNetwork(address);
  if (browser === undefined || !isSecret(browser)) return { network, browser: undefined };
  const digest = await computeDigest(keyring, 'browser', person, browser);
  return { network, browser: Buffer.from(digest).toString('base64url') };
}

/** The secret of the browser, or a new one. The same secret makes a browser known for several users, each by its digest. */
export const browserSecret = (random: Random, { browser }: ClientContext): string =>
  browser !== undefined && isSecret(browser) ? browser : newSecret(random);

/** What a database takes: no U+0000, and no end without its beginning. It is kept and shown, so that no card number stays in it. */
export const sanitizeUserAgent = ({ userAgent }: ClientContext): string =>
  [...truncatePans(userAgent.replace(/\p{Cc}/gu, ' ').toWellFormed())].slice(0, LIMITS.userAgentCharacters).join('');
