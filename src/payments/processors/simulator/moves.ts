import type { Clock } from '../../../kernel/clock.ts';
import type { Tenant } from '../../../kernel/environment.ts';
import type { AscendingIds } from '../../../kernel/ids.ts';
import type { Money } from '../../../kernel/money.ts';
import type { Database, Write } from '../../../storage/database.ts';
import type { Approved, NotSent, Refused } from '../../processor.ts';
import { answerOf, refusal } from './answers.ts';
import { findEntry, findMovement, insertMovement, untilSettled, updateEntry } from './books.ts';
import { type Entry, type Movement, type Plan, planOf } from './entry.ts';
import { noAnswer } from './line.ts';
import type { Move } from './triggers.ts';

export interface MoveRequest {
  readonly tenant: Tenant;
  readonly key: string;
  /** Key of the authorization or payment. */
  readonly payment: string;
  readonly move: Move;
  /** Undefined: the whole authorization. */
  readonly amount: Money | undefined;
}

type Answer = Approved | Refused | NotSent;

/** Captures, refunds and voids: each commits its line in the books and the payment's new state, or neither. */
export class Moves {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #ids: AscendingIds;

  constructor(database: Database, clock: Clock, ids: AscendingIds) {
    this.#database = database;
    this.#clock = clock;
    this.#ids = ids;
  }

  execute(request: MoveRequest): Promise<Answer> {
    return untilSettled(async () => {
      const entry = await findEntry(this.#database, request.tenant, request.payment);
      if (entry === undefined) return refusal('InvalidData');
      const plan = planOf(entry, request.move, request.amount ?? entry.amount, this.#clock());
      return this.#carryOut(request, entry, plan);
    });
  }

  /** Undefined when others changed the payment meanwhile. */
  async #carryOut(request: MoveRequest, entry: Entry, plan: Plan): Promise<Answer | undefined> {
    const { tenant, key } = request;
    const movement = this.#movementOf(request, entry, plan);
    const writes: Write[] = movement === undefined ? [] : [insertMovement(tenant, movement)];
    if (plan.after !== entry) writes.push(updateEntry(tenant, plan.after));
    const outcome = await this.#database.commit({ writes });
    if (outcome.committed) return this.#answer(plan, movement);
    if (movement === undefined || outcome.write > 0) return undefined;
    const first = await findMovement(this.#database, tenant, key);
    return first && answerOf(first);
  }

  #answer({ answer }: Plan, movement: Movement | undefined): Answer | Promise<never> {
    if (answer === 'not-sent') return { kind: 'not-sent' };
    return answer === 'none' || movement === undefined ? noAnswer() : answerOf(movement);
  }

  #movementOf({ key, payment, move, amount }: MoveRequest, entry: Entry, { booked }: Plan): Movement | undefined {
    return (
      booked && {
        key,
        reference: this.#ids.next(),
        payment,
        move,
        amount: amount ?? entry.amount,
        verdict: booked.verdict,
        reason: booked.verdict === 'refused' ? booked.reason : undefined,
      }
    );
  }
}
