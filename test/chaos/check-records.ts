import { cardsText, type ExpectedToken, TOLERANCE_MS } from './expected-records.ts';
import { type Kind, nameOf, type PlannedRequest, type Request } from './ledger.ts';
import type { Node } from './node.ts';
import type { Stage } from './stage.ts';
import { HASH, storedRecord, VaultRequests } from './vault-requests.ts';

/** Checks the tokens and captures after a run. Each check adds its findings to the ledger. */

const AT_ONCE = 16;
/** Tokens read with one request. */
const BATCH = 100;

export async function eachOf<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items].reverse();
  const work = async (): Promise<void> => {
    for (let item = queue.pop(); item !== undefined; item = queue.pop()) await act(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

export const count = async (stage: Stage, sql: string): Promise<number> =>
  Number((await stage.query(`select count(*) as number from ${sql}`))[0]?.['number']);

/** Every request whose answer got lost is answered when it is sent again with its key. */
export async function checkKeysAnswered({ ledger, courier, nodes, dice }: Stage, withinMs: number): Promise<void> {
  const open = ledger.requests.filter((request) => request.isUnknown && request.wish.isKeyed === true);
  const until = Date.now() + withinMs;
  await eachOf(open, (request) => courier.carryOut(request, dice.pick(nodes), until));
  for (const request of open)
    if (request.isUnknown) ledger.found(`${nameOf(request)} is not answered ${withinMs} ms after the load`);
}

/** Every repeat of an acknowledged request gets the answer that it got at first, whatever node it goes to. */
export async function checkResponsesStored({ ledger, courier, nodes, dice }: Stage): Promise<void> {
  const keyed = ledger.requests.filter(({ answer, wish }) => answer !== undefined && wish.isKeyed === true);
  await eachOf(keyed, async (request) => {
    await courier.attempt(request, dice.pick(nodes));
  });
}

/** Every acknowledged token returns its card, on every node, unless a client requested its deletion. */
export async function checkTokensExist(stage: Stage): Promise<void> {
  const { ledger, stock, nodes } = stage;
  const held = ledger
    .acknowledged('tokenize')
    .flatMap(({ wish, answer }) =>
      (wish.cards ?? []).map((card, index): ExpectedToken => ({ token: answer.json.data.tokens[index].token, card })),
    );
  const persistent = [...stock.persistent].map(([of, { token }]) => ({ token, card: of.split(' ')[1] as string }));
  const expected = [...held, ...persistent].filter(({ token }) => !stock.deletions.has(token));
  const batches = Array.from({ length: Math.ceil(expected.length / BATCH) }, (_, index) =>
    expected.slice(index * BATCH, (index + 1) * BATCH),
  );
  await Promise.all(nodes.map((node) => eachOf(batches, (batch) => detokenizes(stage, node, batch))));
}

async function detokenizes(stage: Stage, node: Node, batch: readonly ExpectedToken[]): Promise<void> {
  const { text, digest } = cardsText(batch);
  const wish: PlannedRequest = {
    kind: 'detokenize',
    method: 'POST',
    path: HASH,
    body: text,
    fault: NO_FAULT,
    refusal: ANY,
  };
  const { end } = await stage.courier.attempt(stage.ledger.enter(wish), node);
  if (typeof end === 'object' && end.status === 200 && end.json?.data?.hashValue === digest) return;
  if (batch.length > 1) {
    const middle = batch.length >> 1;
    await detokenizes(stage, node, batch.slice(0, middle));
    return detokenizes(stage, node, batch.slice(middle));
  }
  const [{ token } = { token: '' }] = batch;
  const told = typeof end === 'object' ? `${end.status}` : end;
  stage.ledger.found(`token ${token} was acknowledged and does not give back its card on node ${node.number}: ${told}`);
}

const NO_FAULT = (): undefined => undefined;
const ANY = (): boolean => true;

/** Every capture that has not ended and was not deleted gives back what was put in. */
export async function checkCapturesExist({ ledger, stock, courier, nodes, dice }: Stage): Promise<void> {
  const wishes = new VaultRequests(dice, stock, []);
  const now = Date.now();
  const kept = ledger.acknowledged('create capture').flatMap((request) => storedRecord(request) ?? []);
  const expected = kept.filter(({ id, endsAfter }) => !stock.deletions.has(id) && endsAfter > now + 60_000);
  await eachOf(expected, async (each) => {
    const request = ledger.enter(wishes.retrieve(each));
    await courier.attempt(request, dice.pick(nodes));
    if (request.answer === undefined) ledger.found(`capture ${each.id} was acknowledged and is gone`);
  });
}

/** Deleted records stay deleted, on every node. */
export async function checkDeletions({ ledger, courier, nodes }: Stage): Promise<void> {
  const gone = ledger.acknowledged('delete token', 'delete capture').map(({ wish }) => wish);
  for (const node of nodes)
    await eachOf(gone, async ({ kind, target }) => {
      const path = kind === 'delete token' ? `/v1/tokens/${target}/inspect` : `/transactions/requests/${target}`;
      const reading: Kind = kind === 'delete token' ? 'detokenize' : 'retrieve capture';
      const fault = () => `${target} is there after its deletion`;
      await courier.attempt(
        ledger.enter({ kind: reading, method: 'GET', path, target: target ?? '', fault, refusal: ANY }),
        node,
      );
    });
}

/** The table contains the acknowledged tokens, and more only for lost responses. */
export async function checkTokenCounts(stage: Stage): Promise<void> {
  const { ledger, stock } = stage;
  const sizeOf = (requests: readonly Request[]): number =>
    requests.reduce((sum, { wish }) => sum + (wish.cards?.length ?? 0), 0);
  const made = ledger.acknowledged('tokenize');
  const keyed = sizeOf(made.filter(({ wish }) => wish.isKeyed === true));
  const plain = sizeOf(made.filter(({ wish }) => wish.isKeyed !== true));
  const lost = sizeOf(ledger.of('tokenize').filter((request) => request.isUnknown));
  const of = (schemes: string) => count(stage, `tokens where format is null and scheme in (${schemes})`);
  expectBetween(stage, 'tokens that were asked for with an Idempotency-Key', await of('3, 7'), keyed, keyed);
  expectBetween(stage, 'tokens that were asked for without one', await of('1, 8'), plain, plain + lost);
  const deleted = ledger.acknowledged('delete token').length;
  expectBetween(stage, 'deleted tokens', await count(stage, 'tokens where deleted_at is not null'), deleted, deleted);
  const persistent = await count(stage, 'tokens where format is not null');
  expectBetween(stage, 'persistent tokens', persistent, stock.persistent.size, stock.wantedPersistent.size);
}

function expectBetween({ ledger }: Stage, what: string, found: number, least: number, most: number): void {
  if (found < least || found > most) ledger.found(`${what}: ${found} in the table, expected ${least} to ${most}`);
}

/** No capture is there twice, and each ends when it must by the right clock. */
export async function checkCaptureCounts(stage: Stage): Promise<void> {
  const { ledger, stock } = stage;
  const asked = new Map(ledger.of('create capture').map((request) => [request.wish.capture?.amount, request]));
  const seen = new Set<number>();
  for (const row of await stage.query('select id, amount, expires_at from captures')) {
    const [id, amount, expiresAt] = [row['id'], Number(row['amount']), Number(row['expires_at'])];
    const request = asked.get(amount);
    if (request === undefined) ledger.found(`nobody asked for capture ${id}`);
    else if (seen.has(amount)) ledger.found(`${nameOf(request)} made capture ${id}, too`);
    else if (!endsInTime(request, expiresAt) && !stock.isClockAhead(request.sentAt, lastEndOf(request)))
      ledger.found(`capture ${id} of ${nameOf(request)} ends at a wrong time`);
    seen.add(amount);
  }
}

const lastEndOf = ({ attempts }: Request): number => attempts.at(-1)?.endedAt ?? Infinity;

function endsInTime(request: Request, expiresAt: number): boolean {
  const ttl = request.wish.capture?.ttlMs ?? 0;
  const last = request.attempts.at(-1)?.endedAt ?? 0;
  const latest = Number.isNaN(request.answeredAt) ? last + LATE_MS : request.answeredAt;
  return expiresAt >= request.sentAt + ttl - TOLERANCE_MS && expiresAt <= latest + ttl + TOLERANCE_MS;
}

/** A request without a response may be executed this much later. */
const LATE_MS = 60_000;

/** Nothing is left in the table of a capture whose time has ended. */
export async function checkSwept(stage: Stage, withinMs: number): Promise<void> {
  const sql = `captures where expires_at <= ${Date.now() - TOLERANCE_MS}`;
  const until = Date.now() + withinMs;
  while ((await count(stage, sql)) > 0) {
    if (Date.now() > until) {
      stage.ledger.found(`${await count(stage, sql)} captures are in the table after their end and a sweep`);
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

/** The chain verifies on every node, and what was read is in it: the record was on disk before the answer left. */
export async function checkAuditComplete({ nodes, ledger }: Stage): Promise<void> {
  const verifies = nodes.map(async (node) => {
    const { code, out, err } = await node.command('audit', 'verify', '--json');
    if (code !== 0) ledger.found(`node ${node.number}: audit verify: ${out}${err}`.trim());
  });
  const [{ code, out, err }] = await Promise.all([(nodes[0] as Node).command('audit', 'export'), ...verifies]);
  if (code !== 0) return ledger.found(`audit export: ${err}`);
  const recorded = new Set<string>();
  for (const line of out.split('\n')) if (line !== '') recorded.add(JSON.parse(line).request_id);
  const kinds: readonly Kind[] = ['detokenize', 'retrieve capture', 'delete token', 'delete capture', 'authorization'];
  for (const request of ledger.acknowledged(...kinds, 'payment', 'capture', 'payment_refund', 'authorization_void')) {
    const wasRecorded = request.attempts.some(({ id }) => recorded.has(id));
    if (!wasRecorded && !request.wish.path.endsWith('/inspect'))
      ledger.found(`${nameOf(request)} is not in the audit log`);
  }
}
