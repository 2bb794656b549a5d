import type { Keyring } from '../../src/crypto/keyring.ts';
import type { Write } from '../../src/storage/database.ts';
import type { RelyingParty } from './client-context.ts';
import { consumeFactor, type Factor } from './factor-store.ts';
import { findCredentialId, type Passkey, verifyAssertion } from './passkey.ts';
import { countUnused, isUsed, markUsed, matchRecoveryCode } from './recovery-codes.ts';
import { findTotpStep } from './totp.ts';

/** A second factor as it is presented. */
export type Proof =
  | { readonly kind: 'totp' | 'recovery-code'; readonly code: string }
  /** `response` is the browser's untrusted data. */
  | { readonly kind: 'passkey'; readonly response: unknown; readonly relyingParty: RelyingParty };

/** Why a proof failed; only for the audit log. */
export type ProofFailure = 'code_wrong' | 'code_used' | 'passkey_wrong';

/** The verified factor with the write that consumes it, or the reason of the failure. */
type ProofResult = { readonly factor: Factor; readonly consumption: Write } | { readonly failure: ProofFailure };

/** The factors that a user can present. */
export interface AvailableFactors {
  readonly totp: boolean;
  readonly passkeys: number;
  /** Number of unused codes. */
  readonly recoveryCodes: number;
}

export const listPasskeys = (factors: readonly Factor[]): Passkey[] =>
  factors.flatMap((factor) => (factor.kind === 'passkey' ? [factor.record] : []));

export const toAvailableFactors = (factors: readonly Factor[]): AvailableFactors => ({
  totp: factors.some(({ kind }) => kind === 'totp'),
  passkeys: listPasskeys(factors).length,
  recoveryCodes: factors.reduce(
    (sum, factor) =>
      factor.kind === 'recovery-codes' ? sum + countUnused(factor.counter, factor.record.digests) : sum,
    0,
  ),
});

/** Verifies a proof against the factors of the user. `challenge`: the value that a passkey has to sign. */
export async function verifyProof(
  proof: Proof,
  context: { keyring: Keyring; factors: readonly Factor[]; challenge: string | undefined; now: number },
): Promise<ProofResult> {
  const { keyring, factors, now } = context;
  if (proof.kind === 'totp') return verifyTotp(proof.code, keyring, factors, now);
  if (proof.kind === 'passkey') return verifyPasskey(proof, context);
  for (const factor of factors) {
    if (factor.kind !== 'recovery-codes') continue;
    const index = matchRecoveryCode(factor.person, factor.record, proof.code);
    if (index === undefined) continue;
    if (isUsed(factor.counter, index)) return { failure: 'code_used' };
    return { factor, consumption: await consumeFactor(keyring, factor, markUsed(factor.counter, index), now) };
  }
  return { failure: 'code_wrong' };
}

async function verifyTotp(
  code: string,
  keyring: Keyring,
  factors: readonly Factor[],
  now: number,
): Promise<ProofResult> {
  for (const factor of factors) {
    if (factor.kind !== 'totp') continue;
    const step = findTotpStep(factor.record.secret, code, now);
    if (step === undefined) continue;
    // Each code is valid once (RFC 6238 5.2), and no earlier one after it.
    if (step <= factor.counter) return { failure: 'code_used' };
    return { factor, consumption: await consumeFactor(keyring, factor, step, now) };
  }
  return { failure: 'code_wrong' };
}

async function verifyPasskey(
  { response, relyingParty }: Extract<Proof, { kind: 'passkey' }>,
  { keyring, factors, challenge, now }: Parameters<typeof verifyProof>[1],
): Promise<ProofResult> {
  const id = findCredentialId(response);
  for (const factor of factors) {
    if (challenge === undefined || factor.kind !== 'passkey' || factor.record.credential !== id) continue;
    const expected = { passkey: factor.record, counter: factor.counter, challenge, relyingParty };
    const counter = await verifyAssertion(response, expected);
    if (counter !== undefined) return { factor, consumption: await consumeFactor(keyring, factor, counter, now) };
  }
  return { failure: 'passkey_wrong' };
}
