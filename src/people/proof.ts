import type { Keyring } from '../crypto/keyring.ts';
import type { Write } from '../storage/database.ts';
import { type Factor, spendFactor } from './factor-store.ts';
import { credentialOf, type Passkey, readSignature } from './passkey.ts';
import { countUnused, findCode, isUsed, withUsed } from './recovery-codes.ts';
import type { Session } from './session.ts';
import { totpStep } from './totp.ts';
import type { RelyingParty } from './visitor.ts';

/** What somebody shows beside their password. */
export type Proof =
  | { readonly kind: 'totp' | 'recovery-code'; readonly code: string }
  /** `response` is what the browser said, whatever it is. */
  | { readonly kind: 'passkey'; readonly response: unknown; readonly relyingParty: RelyingParty };

/** Why a proof is none; for the audit log alone. */
export type ProofRefusal = 'code_wrong' | 'code_used' | 'passkey_wrong';

/** Right, with what makes it good for this once; or why not. */
export type Verdict = { readonly factor: Factor; readonly use: Write } | { readonly refusal: ProofRefusal };

/** Which of the factors can be shown. */
export interface Offered {
  readonly totp: boolean;
  readonly passkeys: number;
  /** Unused ones. */
  readonly recoveryCodes: number;
}

export const passkeysOf = (factors: readonly Factor[]): Passkey[] =>
  factors.flatMap((factor) => (factor.kind === 'passkey' ? [factor.record] : []));

export const offeredBy = (factors: readonly Factor[]): Offered => ({
  totp: factors.some(({ kind }) => kind === 'totp'),
  passkeys: passkeysOf(factors).length,
  recoveryCodes: factors.reduce(
    (sum, factor) =>
      factor.kind === 'recovery-codes' ? sum + countUnused(factor.counter, factor.record.digests) : sum,
    0,
  ),
});

/** Judges a proof by the factors of the person whose session it is. */
export async function judge(
  proof: Proof,
  { keyring, factors, session, now }: { keyring: Keyring; factors: readonly Factor[]; session: Session; now: number },
): Promise<Verdict> {
  if (proof.kind === 'totp') return judgeTotp(proof.code, factors, now);
  if (proof.kind === 'passkey') return judgePasskey(proof, factors, session, now);
  for (const factor of factors) {
    if (factor.kind !== 'recovery-codes') continue;
    const index = await findCode(keyring, factor.person, factor.record.digests, proof.code);
    if (index === undefined) continue;
    if (isUsed(factor.counter, index)) return { refusal: 'code_used' };
    return { factor, use: spendFactor(factor, withUsed(factor.counter, index), now) };
  }
  return { refusal: 'code_wrong' };
}

function judgeTotp(code: string, factors: readonly Factor[], now: number): Verdict {
  for (const factor of factors) {
    if (factor.kind !== 'totp') continue;
    const step = totpStep(factor.record.secret, code, now);
    if (step === undefined) continue;
    // Each code is good once (RFC 6238 5.2), and none before it any more.
    return step <= factor.counter ? { refusal: 'code_used' } : { factor, use: spendFactor(factor, step, now) };
  }
  return { refusal: 'code_wrong' };
}

async function judgePasskey(
  { response, relyingParty }: Extract<Proof, { kind: 'passkey' }>,
  factors: readonly Factor[],
  { notes: { challenge } }: Session,
  now: number,
): Promise<Verdict> {
  const id = credentialOf(response);
  for (const factor of factors) {
    if (challenge === undefined || factor.kind !== 'passkey' || factor.record.credential !== id) continue;
    const known = { passkey: factor.record, counter: factor.counter, challenge, relyingParty };
    const counter = await readSignature(response, known);
    if (counter !== undefined) return { factor, use: spendFactor(factor, counter, now) };
  }
  return { refusal: 'passkey_wrong' };
}
