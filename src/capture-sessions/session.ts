import type { Brand } from '../kernel/card-brand.ts';
import type { Presence } from '../kernel/card-entry.ts';
import type { Tenant } from '../kernel/environment.ts';
import type { TokenFormat } from '../vault/scheme.ts';
import type { Creator } from '../vault/token.ts';
import type { Appearance } from './appearance.ts';

/** Capture sessions: each takes one card that a buyer enters into the card form, once (browser.md 2). */

export const SESSION_STATUSES = ['open', 'completed', 'cancelled', 'failed', 'expired'] as const;
export type SessionStatus = (typeof SESSION_STATUSES)[number];

export const LOCALES = ['en', 'es', 'pt'] as const;
export type Locale = (typeof LOCALES)[number];

/** The record that a session creates from the card. */
export type SessionGoal =
  | {
      readonly result: 'capture';
      readonly amount: number;
      readonly currency: string;
      readonly additionalInfo: string;
      readonly ttlMinutes: number;
    }
  | {
      readonly result: 'token';
      readonly format: TokenFormat;
      readonly persistent: boolean;
      readonly tags: readonly string[];
    };

/** The settings of a session, fixed at its creation. */
export interface SessionSettings {
  readonly allowedOrigins: readonly string[];
  readonly returnUrl: string | undefined;
  readonly description: string | undefined;
  readonly goal: SessionGoal;
  readonly fields: { readonly name: Presence; readonly cvv: Presence };
  readonly acceptedBrands: readonly Brand[] | undefined;
  readonly locale: Locale | undefined;
  readonly appearance: Appearance | undefined;
  readonly creator: Creator;
}

/** The capture or token of a completed session, with the members of the wire. */
export interface SessionResult {
  readonly result:
    | { readonly capture: { readonly id: string } }
    | { readonly token: { readonly token: string; readonly scheme: number } };
  readonly card: { readonly brand: Brand | 'unknown'; readonly card: string; readonly exp: string };
}

/** A session. Times in milliseconds. */
export interface Session {
  readonly id: string;
  readonly tenant: Tenant;
  /** The stored status: an open session is expired when `expiresAt` has passed. */
  readonly status: SessionStatus;
  readonly settings: SessionSettings;
  /** Refused submissions. */
  readonly attempts: number;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly endedAt: number | undefined;
  /** The attempt that completed it. */
  readonly attempt: string | undefined;
  readonly result: SessionResult | undefined;
}

/** Returns the status at a time, whether or not a sweep has run. */
export const statusAt = ({ status, expiresAt }: Pick<Session, 'status' | 'expiresAt'>, now: number): SessionStatus =>
  status === 'open' && now >= expiresAt ? 'expired' : status;
