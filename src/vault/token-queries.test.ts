import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { isPostgres } from '../../test/fixtures/database.ts';
import { luhnPan, startTestService, type TestService } from '../../test/fixtures/test-service.ts';
import { inTransaction } from '../../test/fixtures/transactions.ts';
import { inScope } from '../../test/scope.ts';
import { UnsealError } from '../crypto/seal.ts';
import type { Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import { type Pan, passesLuhn } from '../kernel/pan.ts';
import { commitOrThrow, type Database, type Row, type Value, write } from '../storage/database.ts';
import type { Page } from '../storage/pagination.ts';
import type { Tokenization } from './assign-tokens.ts';
import type { Scheme } from './scheme.ts';
import type { Token } from './token.ts';
import type { TokenSearch } from './token-queries.ts';
import { TokenQueries, type TokenView } from './token-queries.ts';
import { Vault } from './vault.ts';

const explainsOtherwise = isPostgres && 'PostgreSQL explains plans in another form, and by statistics';

const CREATOR = { id: 'key_1', name: 'test' };

const PANS = ['411111', '41111122', '520082', '41111199'].flatMap((bin) =>
  [12, 16, 19].flatMap((length) => [luhnPan(bin, length), luhnPan(bin, length)]),
);
const TAGS = ['web', 'Web', 'ñandú', '4111', 'bin:411111', '\ud800', '\ud801'];

interface Parts {
  readonly vault: Vault;
  readonly listing: TokenQueries;
  readonly database: Database;
}

/** Each step of a random history. */
type Step =
  | {
      readonly do: 'tokenize';
      readonly pan: number;
      readonly tags: number[];
      readonly scheme: Scheme;
      readonly bin: 6 | 8;
    }
  | { readonly do: 'merge'; readonly pan: number; readonly tags: number[]; readonly scheme: Scheme }
  | { readonly do: 'delete'; readonly which: number };

const pan = fc.nat(PANS.length - 1);
const tags = fc.array(fc.nat(TAGS.length - 1), { maxLength: 4 });
const scheme = fc.constantFrom<Scheme>(1, 3, 7, 8);
const steps = fc.array(
  fc.oneof<fc.Arbitrary<Step>[]>(
    fc.record({
      do: fc.constant('tokenize' as const),
      pan,
      tags,
      scheme,
      bin: fc.constantFrom(6 as const, 8 as const),
    }),
    fc.record({ do: fc.constant('merge' as const), pan, tags, scheme }),
    fc.record({ do: fc.constant('delete' as const), which: fc.nat() }),
  ),
  { minLength: 5, maxLength: 40 },
);

const at = <T>(list: readonly T[], index: number): T => list[index % list.length] as T;

const tokenization = (pan: string, options: Partial<Tokenization>): Tokenization => ({
  cards: [{ pan: pan as Pan, name: undefined, expiry: undefined }],
  tags: [],
  format: { scheme: 1, bin: 6 },
  persistent: false,
  creator: CREATOR,
  ...options,
});

/** The result of a naive scan. */
const naively = (tokens: Iterable<Token>, { by, text }: TokenSearch): string[] =>
  [...tokens]
    .filter(({ token, scheme, card, tags: own }) => {
      if (by === 'token') return token === text;
      if (by === 'tag') return own.includes(text);
      if (by === 'last-four') return card.pan.endsWith(text);
      if (!card.pan.startsWith(text)) return false;
      return text.length === 6 || (scheme !== 7 && token.startsWith(text));
    })
    .map(({ token }) => token)
    .sort();

async function allOf(page: (cursor: string | undefined) => Promise<Page<TokenView>>): Promise<TokenView[]> {
  const found: TokenView[] = [];
  let cursor: string | undefined;
  do {
    const { items, cursor: next } = await page(cursor);
    assert.ok(items.length <= 50);
    found.push(...items);
    cursor = next;
  } while (cursor !== undefined);
  return found;
}

const searches: readonly TokenSearch[] = [
  ...TAGS.map((text) => ({ by: 'tag' as const, text })),
  ...new Set(PANS.flatMap((each) => [each.slice(0, 6), each.slice(0, 8)])),
  ...new Set(PANS.map((each) => each.slice(-4))),
].map((each) => (typeof each === 'string' ? { by: each.length === 4 ? 'last-four' : 'bin', text: each } : each));

const ORPHANS = `select m.tag from token_tags m where not exists (select 1 from tokens t where t.account = m.account
  and t.environment = m.environment and t.slot = m.slot and t.record is not null)`;

describe('the list and the searches of tokens', { timeout: 120_000 }, () => {
  let service: TestService;
  let parts: Parts;
  before(async () => {
    service = await startTestService();
    const { database, keyring } = service.core;
    const listing = new TokenQueries({ database, keyring });
    parts = {
      database,
      vault: new Vault({ ...service.core }),
      listing,
    };
  });
  after(() => service.stop());

  const newTenant = async (): Promise<Tenant> => ({ account: await service.newAccount(), environment: 'sandbox' });
  const make = async (tenant: Tenant, request: Tokenization): Promise<Token> => {
    const [result] = await inTransaction(service.core, (transaction) =>
      parts.vault.tokenize(transaction, tenant, request),
    );
    assert.ok(result?.token !== undefined);
    return result.token;
  };
  const tokensOf = async (tenant: Tenant, search: TokenSearch): Promise<string[]> =>
    (await allOf((cursor) => parts.listing.search(tenant, search, cursor))).map(({ token }) => token);
  const blindIndexesOf = ({ account }: Tenant): Promise<Row[]> =>
    parts.database.read('select slot, tag from token_tags where account = ?account', account);
  const change = (sql: string, ...values: string[]): Promise<void> =>
    commitOrThrow(parts.database, { writes: [write(sql, values)] });
  const orphans = (): Promise<Row[]> => parts.database.read(ORPHANS);

  /** The rows at the end. */
  async function live(tenant: Tenant, history: readonly Step[]): Promise<Map<string, Token>> {
    const tokens = new Map<string, Token>();
    for (const step of history) {
      // At one moment many of them, or else one after the other.
      service.advance(step.do === 'merge' ? 1 : 0);
      const token = 'which' in step ? at([...tokens.keys()], step.which) : undefined;
      if (step.do === 'tokenize' || step.do === 'merge') {
        const format = {
          scheme: step.scheme,
          bin: step.do === 'tokenize' && step.scheme !== 7 ? step.bin : 6,
        } as const;
        const own = step.tags.map((index) => at(TAGS, index));
        const number = at(PANS, step.pan);
        // Nothing of the shortest is hidden behind eight digits.
        if (format.bin === 8 && number.length === 12) continue;
        const results = await inTransaction(service.core, (transaction) =>
          parts.vault.tokenize(
            transaction,
            tenant,
            tokenization(number, { tags: own, format, persistent: step.do === 'merge' }),
          ),
        ).catch(() => []);
        for (const { token: one } of results) if (one !== undefined) tokens.set(one.token, one);
      } else if (token !== undefined) {
        await inTransaction(service.core, (transaction) => parts.vault.delete(transaction, tenant, [token]));
        tokens.delete(token);
      }
    }
    return tokens;
  }

  test('return exactly what a naive scan finds, after any history', async () => {
    const other = await newTenant();
    for (const scheme of [1, 3, 7, 8] as const)
      for (const number of PANS.slice(6))
        await make(other, tokenization(number, { tags: TAGS, format: { scheme, bin: 6 } }));
    await fc.assert(
      fc.asyncProperty(steps, async (history) => {
        const tenant = await newTenant();
        const tokens = await live(tenant, history);
        for (const search of searches) {
          const found = await tokensOf(tenant, search);
          assert.deepEqual(found.toSorted(), naively(tokens.values(), search), search.by);
          if (search.by === 'bin') continue;
          const times = found.map((token) => tokens.get(token)?.createdAt ?? 0);
          assert.deepEqual(
            times,
            times.toSorted((one, next) => next - one),
            search.by,
          );
        }
        for (const token of tokens.keys())
          assert.deepEqual(await tokensOf(tenant, { by: 'token', text: token }), [token]);
        const listed = await allOf((cursor) => parts.listing.list(tenant, cursor));
        assert.deepEqual(listed.map(({ token }) => token).sort(), [...tokens.keys()].sort());
        const times = listed.map(({ createdAt }) => createdAt);
        assert.deepEqual(
          times,
          times.toSorted((one, next) => next - one),
        );
        assert.deepEqual(await orphans(), []);
        for (const text of [...listed.map((each) => JSON.stringify(each.details))])
          for (const number of PANS) assert.ok(!text.includes(number));
      }),
      { numRuns: inScope({ usual: 10, long: 25 }) },
    );
  });

  test('return many tokens page by page, each once, also when newer ones are created in between', async () => {
    const tenant = await newTenant();
    const created = new Set<string>();
    const name = undefined;
    // Tokens of one BIN and last four: nineteen digits leave room for sixty of them.
    const cards = Array.from({ length: 60 }, (_, index) => {
      const start = `411111${String(index).padStart(8, '0')}`;
      const last = Array.from({ length: 10 }, (_, digit) => `${start}${digit}4242`).find(passesLuhn);
      return { pan: last as Pan, name, expiry: undefined };
    });
    for (const scheme of [1, 7] as const)
      for (const result of await inTransaction(service.core, (transaction) =>
        parts.vault.tokenize(transaction, tenant, {
          cards,
          tags: ['many'],
          format: { scheme, bin: 6 },
          persistent: false,
          creator: CREATOR,
        }),
      ))
        created.add(result.token?.token ?? '');
    assert.equal(created.size, 120);
    const sorted = [...created].sort();
    for (const search of [
      { by: 'tag', text: 'many' },
      { by: 'bin', text: '411111' },
      { by: 'last-four', text: '4242' },
    ] as const)
      assert.deepEqual((await tokensOf(tenant, search)).sort(), sorted, search.by);
    const listed = await allOf(async (cursor) => {
      const page = await parts.listing.list(tenant, cursor);
      service.advance(5);
      await make(tenant, tokenization(at(PANS, 13), {}));
      return page;
    });
    assert.deepEqual(listed.map(({ token }) => token).sort(), sorted);
  });

  test('are found by an index of the search, however many tokens there are', { skip: explainsOtherwise }, async () => {
    const { database, keyring } = service.core;
    const plans: string[] = [];
    const observed: Database = Object.create(database, {
      read: {
        value: async (sql: string, ...values: Value[]) => {
          const plan = await database.read(`explain query plan ${sql}`, ...values);
          plans.push(...plan.map(({ detail }) => String(detail)));
          return database.read(sql, ...values);
        },
      },
    });
    const listing = new TokenQueries({ database: observed, keyring });
    const tenant = await newTenant();
    await listing.search(tenant, { by: 'last-four', text: '4242' });
    await listing.search(tenant, { by: 'tag', text: 'many' });
    assert.equal(plans.filter((plan) => /search>|tag=/.test(plan)).length, 2, plans.join('\n'));
    plans.length = 0;
    for (const order of ['newest', 'oldest'] as const) await listing.list(tenant, undefined, order);
    assert.equal(plans.filter((plan) => /created_at[<>]/.test(plan)).length, 2, plans.join('\n'));
    assert.ok(!plans.some((plan) => plan.includes('created_at') && /TEMP B-TREE/.test(plan)));
  });

  test('have neither excess nor missing blind indexes when merges and deletions race', async () => {
    const tenant = await newTenant();
    const number = luhnPan('411111');
    for (let round = 0; round < 6; round++) {
      const format = { scheme: round % 2 === 0 ? 7 : 1, bin: 6 } as const;
      const { token } = await make(tenant, tokenization(number, { tags: ['old'], format, persistent: true }));
      const tagged = Array.from({ length: 8 }, (_, index) =>
        make(tenant, tokenization(number, { tags: [`t${index}`], format, persistent: true })),
      );
      const gone =
        round < 3
          ? [inTransaction(service.core, (transaction) => parts.vault.delete(transaction, tenant, [token]))]
          : [];
      await Promise.all([...tagged, ...gone]);
      assert.deepEqual(await orphans(), []);
      const [listed] = (await parts.listing.list(tenant)).items;
      for (const tag of listed?.details?.tags ?? [])
        assert.deepEqual(await tokensOf(tenant, { by: 'tag', text: tag }), [listed?.token], tag);
      await inTransaction(service.core, (transaction) =>
        parts.vault.delete(transaction, tenant, [listed?.token ?? '', token]),
      );
      assert.deepEqual(await blindIndexesOf(tenant), []);
    }
  });

  test('do not return a token to which a digest was moved', async () => {
    const tenant = await newTenant();
    const { token: one } = await make(
      tenant,
      tokenization(luhnPan('411111'), { tags: ['one'], format: { scheme: 7, bin: 6 } }),
    );
    service.advance(1);
    const pan = luhnPan('520082');
    const { token: other } = await make(tenant, tokenization(pan, { tags: ['other'], format: { scheme: 7, bin: 6 } }));
    const of = (column: string, order: string): string =>
      `(select ${column} from tokens where account = ?account order by created_at ${order} limit 1)`;
    const { account } = tenant;
    await change(
      `update tokens set search = ${of('search', 'desc')} where account = ?account and slot = ${of('slot', 'asc')}`,
      ...[account, account, account],
    );
    await change(
      `update token_tags set slot = ${of('slot', 'asc')}, created_at = ${of('created_at', 'asc')}
        where account = ?account and slot = ${of('slot', 'desc')}`,
      ...[account, account, account, account],
    );
    const found = async (by: TokenSearch['by'], text: string): Promise<string[]> => tokensOf(tenant, { by, text });
    assert.deepEqual(await found('last-four', pan.slice(-4)), [other]);
    assert.deepEqual(await found('bin', '520082'), [other]);
    assert.deepEqual(await found('bin', '411111'), []);
    assert.deepEqual(await found('tag', 'other'), []);
    assert.deepEqual(await found('tag', 'one'), [one]);
  });

  test('of a BIN and scheme 7 scan a bounded number of tokens for each page', async () => {
    const tenant = await newTenant();
    const { token } = await make(tenant, tokenization(luhnPan('520082'), { format: { scheme: 7, bin: 6 } }));
    service.advance(1);
    const cards = Array.from({ length: LIMITS.rowsPerPage + LIMITS.rowsPerScan }, () => ({
      pan: luhnPan('411111') as Pan,
      name: undefined,
      expiry: undefined,
    }));
    const request = tokenization('', { cards, format: { scheme: 7, bin: 6 } });
    await inTransaction(service.core, (transaction) => parts.vault.tokenize(transaction, tenant, request));
    const search = { by: 'bin', text: '520082' } as const;
    const first = await parts.listing.search(tenant, search);
    assert.deepEqual(first.items, []);
    assert.ok(first.cursor !== undefined);
    const second = await parts.listing.search(tenant, search, first.cursor);
    assert.deepEqual(
      second.items.map((item) => item.token),
      [token],
    );
    assert.equal(second.cursor, undefined);
    const long = await parts.listing.search(tenant, { by: 'bin', text: '52008200' });
    assert.deepEqual(long, { items: [], cursor: undefined });
  });

  test('return damaged tokens in the list only, and the others everywhere', async () => {
    const tenant = await newTenant();
    const { token } = await make(tenant, tokenization(luhnPan('411111'), { tags: ['odd'] }));
    await change(
      "update tokens set scheme = 3, record = x'00' where account = ?account".replace("x'00'", 'fingerprint'),
      tenant.account,
    );
    const { items } = await parts.listing.list(tenant);
    assert.deepEqual(
      items.map((each) => [each.token, each.details]),
      [[token, undefined]],
    );
    assert.deepEqual(await tokensOf(tenant, { by: 'tag', text: 'odd' }), []);
    assert.deepEqual(
      await inTransaction(service.core, (transaction) => parts.vault.delete(transaction, tenant, [token])),
      [{ token, deleted: true }],
    );
  });

  test('by BIN continue past a token whose scheme was altered to one that does not exist', async () => {
    const tenant = await newTenant();
    const pan = luhnPan('520082');
    const { token } = await make(tenant, tokenization(pan, { format: { scheme: 7, bin: 6 } }));
    const { token: persistent } = await make(tenant, tokenization(pan, {}));
    await change('update tokens set scheme = 99 where account = ?account and scheme = 7', tenant.account);
    assert.deepEqual(await tokensOf(tenant, { by: 'bin', text: '520082' }), [persistent]);
    const { items } = await parts.listing.search(tenant, { by: 'token', text: token });
    assert.deepEqual(
      items.map(({ details }) => details),
      [undefined],
    );
    assert.deepEqual(
      await tokensOf(tenant, { by: 'bin', text: pan.slice(0, 8) }),
      persistent.startsWith(pan.slice(0, 8)) ? [persistent] : [],
    );
  });

  test('whose time was altered are shown as altered, hold up no others and leave no tags', async () => {
    for (const time of ['created_at + 1', '9000000000000000000', '8640000000000001', '-1', '-9000000000000000000']) {
      const tenant = await newTenant();
      const pan = luhnPan('520082');
      const { token } = await make(tenant, tokenization(pan, { tags: ['odd'] }));
      await change(`update tokens set created_at = ${time} where account = ?account`, tenant.account);
      const { token: intact } = await make(tenant, tokenization(pan, { tags: ['odd'] }));
      await assert.rejects(parts.vault.inspect(tenant, token), UnsealError);
      const { items } = await parts.listing.search(tenant, { by: 'token', text: token });
      assert.deepEqual(
        items.map(({ details, createdAt }) => [details, Number.isNaN(new Date(createdAt).getTime())]),
        [[undefined, false]],
        time,
      );
      const listed = (await allOf((cursor) => parts.listing.list(tenant, cursor))).map((each) => each.token);
      assert.deepEqual(listed.toSorted(), [token, intact].toSorted(), time);
      for (const search of [
        { by: 'bin', text: '520082' },
        { by: 'last-four', text: pan.slice(-4) },
        { by: 'tag', text: 'odd' },
      ] as const)
        assert.deepEqual(await tokensOf(tenant, search), [intact], time);
      await inTransaction(service.core, (transaction) => parts.vault.delete(transaction, tenant, [token, intact]));
      const tags = 'select slot from token_tags where account = ?account';
      assert.deepEqual(await parts.database.read(tags, tenant.account), [], time);
    }
  });

  test('list those whose time no token has at the end, page by page', async () => {
    const tenant = await newTenant();
    const cards = Array.from({ length: 3 * LIMITS.recordsPerPage - 5 }, () => ({
      pan: luhnPan('411111') as Pan,
      name: undefined,
      expiry: undefined,
    }));
    const made = await inTransaction(service.core, (transaction) =>
      parts.vault.tokenize(transaction, tenant, tokenization('', { cards, format: { scheme: 7, bin: 6 } })),
    );
    const some = `slot in (select slot from tokens where account = ?account limit ${2 * LIMITS.recordsPerPage})`;
    await change(
      `update tokens set created_at = 9000000000000000000 where account = ?account and ${some}`,
      tenant.account,
      tenant.account,
    );
    const listed = await allOf((cursor) => parts.listing.list(tenant, cursor));
    assert.deepEqual(listed.map(({ token }) => token).sort(), made.map(({ token }) => token?.token).sort());
    assert.deepEqual(
      listed.map(({ details }) => details !== undefined),
      cards.map((_, index) => index < cards.length - 2 * LIMITS.recordsPerPage),
    );
  });

  test('reject values and cursors in another format, without repeating them', async () => {
    const tenant = await newTenant();
    const wrong: [TokenSearch, string | undefined][] = [
      [{ by: 'bin', text: '4111111' }, undefined],
      [{ by: 'bin', text: '41111a' }, undefined],
      [{ by: 'last-four', text: '411' }, undefined],
      [{ by: 'tag', text: '' }, undefined],
      [{ by: 'tag', text: 'x'.repeat(256) }, undefined],
      [{ by: 'tag', text: 'x' }, 'nonsense'],
      [{ by: 'last-four', text: '4111' }, Buffer.from('["a","b"]').toString('base64url')],
    ];
    for (const [search, cursor] of wrong)
      await assert.rejects(parts.listing.search(tenant, search, cursor), (error: Error) => {
        assert.match(error.message, /^(text|cursor): expected/);
        assert.ok(search.text.length < 4 || !error.message.includes(search.text));
        return true;
      });
    await assert.rejects(parts.listing.list(tenant, 'e30'), { code: 'invalid_field' });
  });
});
