import type { Expiry } from '../kernel/expiry.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { Pan } from '../kernel/pan.ts';
import type { Scheme } from './scheme.ts';

export interface Card {
  readonly pan: Pan;
  readonly name: string | undefined;
  readonly expiry: Expiry | undefined;
}

/** The API key that created a token, with its name at that time. */
export interface Creator {
  readonly id: string;
  readonly name: string;
}

/** A permanent token and its card. */
export interface Token {
  readonly token: string;
  readonly scheme: Scheme;
  readonly card: Card;
  readonly tags: readonly string[];
  readonly createdBy: Creator;
  readonly createdAt: number;
}

/** The sealed part of a token. */
interface TokenRecord {
  readonly pan: string;
  readonly name?: string;
  readonly month?: string;
  readonly year?: string;
  readonly tags: readonly string[];
  readonly by: Creator;
}

export function toTokenRecord({ card, tags, createdBy }: Token): string {
  const { pan, name, expiry } = card;
  const record: TokenRecord = { pan, ...(name !== undefined && { name }), ...expiry, tags, by: createdBy };
  return JSON.stringify(record);
}

export function fromTokenRecord(record: string, columns: Pick<Token, 'token' | 'scheme' | 'createdAt'>): Token {
  const { pan, name, month, year, tags, by } = JSON.parse(record) as TokenRecord;
  const expiry = month !== undefined && year !== undefined ? { month, year } : undefined;
  return { ...columns, card: { pan: pan as Pan, name, expiry }, tags, createdBy: by };
}

/** Merges a card that is sent again into its persistent token: newer name and expiry win, tags add up. */
export function mergeToken(old: Token, card: Card, tags: readonly string[]): Token {
  return {
    ...old,
    card: { pan: old.card.pan, name: card.name ?? old.card.name, expiry: card.expiry ?? old.card.expiry },
    tags: mergeTags(old.tags, tags),
  };
}

export const mergeTags = (old: readonly string[], added: readonly string[]): readonly string[] =>
  added.every((tag) => old.includes(tag)) ? old : [...new Set([...old, ...added])].slice(0, LIMITS.tags);
