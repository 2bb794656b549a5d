import type { Keyring } from '../../src/crypto/keyring.ts';
import type { Write } from '../../src/storage/database.ts';
import { type Factor, spendFactor } from './factor-store.ts';
import { credentialOf, type Passkey, readSignature } from './passkey.ts';
import { countUnused, findCode, isUsed, withUsed } from './recovery-codes.ts';
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

/** Judges a proof by the factors of the person. `challenge`: what a passkey has to sign. */
export async function judge(
  proof: Proof,
  given: { keyring: Keyring; factors: readonly Factor[]; challenge: string | undefined; now: number },
): Promise<Verdict> {
  const { keyring, factors, now } = given;
  if (proof.kind === 'totp') return judgeTotp(proof.code, keyring, factors, now);
  if (proof.kind === 'passkey') return judgePasskey(proof, given);
  for (const factor of factors) {
    if (factor.kind !== 'recovery-codes') continue;
    const index = await findCode(keyring, factor.person, factor.record.digests, proof.code);
    if (index === undefined) continue;
    if (isUsed(factor.counter, index)) return { refusal: 'code_used' };
    return { factor, use: await spendFactor(keyring, factor, withUsed(factor.counter, index), now) };
  }
  return { refusal: 'code_wrong' };
}

async function judgeTotp(code: string, keyring: Keyring, factors: readonly Factor[], now: number): Promise<Verdict> {
  for (const factor of factors) {
    if (factor.kind !== 'totp') continue;
    const step = totpStep(factor.record.secret, code, now);
    if (step === undefined) continue;
    // Each code is good once (RFC 6238 5.2), and none before it any more.
    if (step <= factor.counter) return { refusal: 'code_used' };
    return { factor, use: await spendFactor(keyring, factor, step, now) };
  }
  return { refusal: 'code_wrong' };
}

async function judgePasskey(
  { response, relyingParty }: Extract<Proof, { kind: 'passkey' }>,
  { keyring, factors, challenge, now }: Parameters<typeof judge>[1],
): Promise<Verdict> {
  const id = credentialOf(response);
  for (const factor of factors) {
    if (challenge === undefined || factor.kind !== 'passkey' || factor.record.credential !== id) continue;
    const known = { passkey: factor.record, counter: factor.counter, challenge, relyingParty };
    const counter = await readSignature(response, known);
    if (counter !== undefined) return { factor, use: await spendFactor(keyring, factor, counter, now) };
  }
  return { refusal: 'passkey_wrong' };
}
