import { passesLuhn } from '../kernel/pan.ts';
import { buildTokenSpace, hasTokenForm } from '../vault/scheme.ts';
import type { CardLine } from './card-source.ts';

/** The faults of a line that are known without the vault: everything but collisions of tokens. */
export function findFault({ parsed }: CardLine): { readonly field: string; readonly code: string } | undefined {
  if ('fault' in parsed) return parsed.fault;
  const { card, format, wanted } = parsed.card;
  if (!passesLuhn(card.pan)) return { field: 'pan', code: 'card_luhn' };
  if (wanted === undefined) return undefined;
  const space = buildTokenSpace(card.pan, format, EVERY_VALUE);
  return hasTokenForm(space, wanted) ? undefined : { field: 'token', code: 'token_form' };
}

const EVERY_VALUE = { has: () => true };
