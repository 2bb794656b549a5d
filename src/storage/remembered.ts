import { type Clock, SECOND } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';

/** Shorter than the 5 seconds within which a change holds on every node. */
const KEPT_MS = 2 * SECOND;
const MAX_TENANTS = 10_000;

/** What was read of each tenant, for 2 seconds. Errors are not kept. */
export class Remembered<T> {
  readonly #clock: Clock;
  readonly #isKept: (found: T) => boolean;
  readonly #known = new Map<string, { readonly at: number; readonly found: Promise<T> }>();

  /** What is not kept is read anew each time: that there is nothing, so that the first change holds at once. */
  constructor(clock: Clock, isKept: (found: T) => boolean) {
    this.#clock = clock;
    this.#isKept = isKept;
  }

  /** `read` is given what was read before, however old it is. */
  get(tenant: Tenant, read: (before: Promise<T> | undefined) => Promise<T>): Promise<T> {
    const name = nameOf(tenant);
    const now = this.#clock();
    const known = this.#known.get(name);
    const age = known === undefined ? KEPT_MS : now - known.at;
    if (known !== undefined && age >= 0 && age < KEPT_MS) return known.found;
    const entry = { at: now, found: read(known?.found) };
    if (this.#known.size >= MAX_TENANTS) this.#known.clear();
    this.#known.set(name, entry);
    const forget = (): void => {
      if (this.#known.get(name) === entry) this.#known.delete(name);
    };
    entry.found.then((found) => (this.#isKept(found) ? undefined : forget()), forget);
    return entry.found;
  }

  forget(tenant: Tenant): void {
    this.#known.delete(nameOf(tenant));
  }
}

const nameOf = ({ environment, account }: Tenant): string => `${environment}/${account}`;
