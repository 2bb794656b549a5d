import type { Origin } from '../audit/audit.ts';
import { Failure } from '../kernel/failure.ts';
import type { CommitResult, Write } from '../storage/database.ts';

/**
 * What a use case is handed along with its input: who asks, and what else must be written in the unit of its effect
 * once the result is known (the answer that an Idempotency-Key keeps).
 */
export interface Effect<Result> {
  readonly origin: Origin;
  readonly also?: ((result: Result) => Promise<readonly Write[]>) | undefined;
}

/** An Idempotency-Key that waits for the answer. */
export interface Claimed<Answer> {
  /** Keeps the answer, in the unit of the effect. */
  keep(answer: Answer): Promise<readonly Write[]>;
  /** Ties the key to what the request begins, in the unit that begins it; the end of that then tells the answer. */
  bind(begun: string): Write;
}

export const alsoWrites = async <Result>(effect: Effect<Result>, result: Result): Promise<readonly Write[]> =>
  effect.also === undefined ? [] : effect.also(result);

/**
 * The writes that go along stand behind the use case's own. A conflict there means that another process has taken the
 * request over, so this one must have no effect.
 */
export function refuseIfTakenOver(outcome: CommitResult, ownWrites: number): void {
  if (!outcome.committed && outcome.write >= ownWrites) throw new Failure('operation_in_progress');
}
