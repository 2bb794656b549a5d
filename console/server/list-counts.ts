import type { Clock } from '../../src/kernel/clock.ts';
import { Cache, costAwareTtl } from '../../src/storage/cache.ts';
import type { Page, RecordCount } from '../../src/storage/pagination.ts';
import type { Definition } from '../wire/definition.ts';

const MAX_CACHED = 1000;

/** Counts the records of lists. A count is cached, because pages request it periodically. */
export class ListCounts {
  readonly #cache: Cache<string, RecordCount | undefined>;

  constructor({ clock }: { clock: Clock }) {
    this.#cache = new Cache({ clock, max: MAX_CACHED, ttlMs: costAwareTtl });
  }

  /**
   * Returns how many records the list of the call has with the filter in its body; null for a later page, and when that is
   * unknown.
   */
  async ofPage(
    { path }: Pick<Definition, 'path'>,
    { params, body }: { readonly params: object; readonly body: { readonly cursor?: string | undefined } },
    { items, cursor }: Page<unknown>,
    count: () => Promise<RecordCount | undefined>,
  ): Promise<{ number: number; is_more: boolean } | null> {
    if (body.cursor !== undefined) return null;
    if (cursor === undefined) return { number: items.length, is_more: false };
    const found = await this.#cache.get(JSON.stringify([path, params, body]), count);
    return found === undefined ? null : { number: found.number, is_more: found.isMore };
  }
}
