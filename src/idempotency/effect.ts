import { Failure } from '../kernel/failure.ts';
import type { CommitResult, Write } from '../storage/database.ts';

/** An Idempotency-Key whose response is stored by units that payments commit themselves, without a `Transaction`. */
export interface Claimed<Response> {
  /** Returns the writes that store the response, for the unit of the effect. */
  keep(response: Response): Promise<readonly Write[]>;
  /** Returns the write that ties the key to an operation, for the unit of its intent. */
  bind(operationId: string): Write;
}

/** Throws `operation_in_progress` for a conflict behind the use case's own writes: another process has the claim. */
export function refuseIfTakenOver(outcome: CommitResult, ownWrites: number): void {
  if (!outcome.committed && outcome.write >= ownWrites) throw new Failure('operation_in_progress');
}
