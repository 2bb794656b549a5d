import type { Random } from '../kernel/clock.ts';
import { newUuid } from '../kernel/ids.ts';
import { LIMITS } from '../kernel/limits.ts';
import { containsPan, passesLuhn } from '../kernel/pan.ts';

/**
 * A caller's request id is used when it is harmless: short, and without anything that looks like a card number or key,
 * whichever of the allowed signs are between its digits.
 */
export function chooseRequestId(sent: string | string[] | undefined, random: Random): string {
  const isHarmless =
    typeof sent === 'string' &&
    sent.length <= LIMITS.requestIdCharacters &&
    /^[A-Za-z0-9._-]+$/.test(sent) &&
    !(sent.match(/[0-9]{12,}/g) ?? []).some(passesLuhn) &&
    !containsPan(sent.replace(/[._]/g, '-')) &&
    !/cv_(production|sandbox)_/.test(sent);
  return isHarmless ? sent : newUuid(random);
}
