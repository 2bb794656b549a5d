import type { Origin } from '../audit/audit.ts';
import { LIMITS } from '../kernel/limits.ts';
import { truncateDisguisedPansIn } from '../kernel/pan-disguised.ts';

/** From where a person comes. */
export interface Visitor {
  readonly address: string;
  /** As the browser says it; anything. */
  readonly userAgent: string;
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

const placeOf = ({ address, requestId }: Visitor): Omit<Origin, 'actor'> => ({
  address,
  ...(requestId !== undefined && { requestId }),
});

/** Who acts, for the audit log: the name that a person goes by, never the e-mail address. */
export const originOf = ({ id, name }: { id: string; name: string }, visitor: Visitor): Origin => ({
  actor: { type: 'person', id, name },
  ...placeOf(visitor),
});

/** Of somebody who has not shown who they are. */
export const unknownOrigin = (visitor: Visitor): Origin => ({ actor: { type: 'unknown' }, ...placeOf(visitor) });

/** What a database takes: no U+0000, and no end without its beginning. It is kept and shown, so that no card number stays in it. */
export const shortUserAgent = ({ userAgent }: Visitor): string =>
  [...truncateDisguisedPansIn(userAgent.replace(/\p{Cc}/gu, ' ').toWellFormed())]
    .slice(0, LIMITS.userAgentCharacters)
    .join('');
