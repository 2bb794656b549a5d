import { cardsText, type ExpectedToken, TOLERANCE_MS } from './expected-records.ts';
import { type Kind, nameOf, type PlannedRequest, type Request } from './ledger.ts';
import type { Node } from './node.ts';
import type { Testbed } from './testbed.ts';
import { HASH, storedRecord, VaultRequests } from './vault-requests.ts';

/** Checks the tokens and captures after a run. Each check adds its findings to the ledger. */

const AT_ONCE = 16;
/** Number of tokens that one request reads. */
const BATCH = 100;

export async function eachOf<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items].reverse();
  const work = async (): Promise<void> => {
    for (let item = queue.pop(); item !== undefined; item = queue.pop()) await act(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

export const count = async (testbed: Testbed, sql: string): Promise<number> =>
  Number((await testbed.query(`select count(*) as number from ${sql}`))[0]?.['number']);

/** Every request whose response was lost gets a response when it is sent again with its key. */
export async function checkKeysAnswered(
  { ledger, retryingClient, nodes, seeded }: Testbed,
  withinMs: number,
): Promise<void> {
  const open = ledger.requests.filter((request) => request.isUnknown && request.planned.isKeyed === true);
  const until = Date.now() + withinMs;
  await eachOf(open, (request) => retryingClient.send(request, seeded.pick(nodes), until));
  for (const request of open)
    if (request.isUnknown) ledger.found(`${nameOf(request)} is not answered ${withinMs} ms after the load`);
}

/** Every repeat of an acknowledged request gets the first response, on any node. */
export async function checkResponsesStored({ ledger, retryingClient, nodes, seeded }: Testbed): Promise<void> {
  const keyed = ledger.requests.filter(({ response, planned }) => response !== undefined && planned.isKeyed === true);
  await eachOf(keyed, async (request) => {
    await retryingClient.attempt(request, seeded.pick(nodes));
  });
}

/** Every acknowledged token returns its card, on every node, unless a client requested its deletion. */
export async function checkTokensExist(testbed: Testbed): Promise<void> {
  const { ledger, expectedRecords, nodes } = testbed;
  const held = ledger
    .acknowledged('tokenize')
    .flatMap(({ planned, response }) =>
      (planned.cards ?? []).map(
        (card, index): ExpectedToken => ({ token: response.json.data.tokens[index].token, card }),
      ),
    );
  const persistent = [...expectedRecords.persistent].map(([of, { token }]) => ({
    token,
    card: of.split(' ')[1] as string,
  }));
  const expected = [...held, ...persistent].filter(({ token }) => !expectedRecords.deletions.has(token));
  const batches = Array.from({ length: Math.ceil(expected.length / BATCH) }, (_, index) =>
    expected.slice(index * BATCH, (index + 1) * BATCH),
  );
  await Promise.all(nodes.map((node) => eachOf(batches, (batch) => detokenizes(testbed, node, batch))));
}

async function detokenizes(testbed: Testbed, node: Node, batch: readonly ExpectedToken[]): Promise<void> {
  const { text, digest } = cardsText(batch);
  const planned: PlannedRequest = {
    kind: 'detokenize',
    method: 'POST',
    path: HASH,
    body: text,
    fault: NO_FAULT,
    refusal: ANY,
  };
  const { end } = await testbed.retryingClient.attempt(testbed.ledger.enter(planned), node);
  if (typeof end === 'object' && end.status === 200 && end.json?.data?.hashValue === digest) return;
  if (batch.length > 1) {
    const middle = batch.length >> 1;
    await detokenizes(testbed, node, batch.slice(0, middle));
    return detokenizes(testbed, node, batch.slice(middle));
  }
  const [{ token } = { token: '' }] = batch;
  const outcome = typeof end === 'object' ? `${end.status}` : end;
  testbed.ledger.found(
    `token ${token} was acknowledged and does not return its card on node ${node.number}: ${outcome}`,
  );
}

const NO_FAULT = (): undefined => undefined;
const ANY = (): boolean => true;

/** Every capture that has not expired and was not deleted returns its data. */
export async function checkCapturesExist({
  ledger,
  expectedRecords,
  retryingClient,
  nodes,
  seeded,
}: Testbed): Promise<void> {
  const plannedRequests = new VaultRequests(seeded, expectedRecords, []);
  const now = Date.now();
  const captures = ledger.acknowledged('create capture').flatMap((request) => storedRecord(request) ?? []);
  const expected = captures.filter(
    ({ id, endsAfter }) => !expectedRecords.deletions.has(id) && endsAfter > now + 60_000,
  );
  await eachOf(expected, async (each) => {
    const request = ledger.enter(plannedRequests.retrieve(each));
    await retryingClient.attempt(request, seeded.pick(nodes));
    if (request.response === undefined) ledger.found(`capture ${each.id} was acknowledged and is gone`);
  });
}

/** Deleted records stay deleted, on every node. */
export async function checkDeletions({ ledger, retryingClient, nodes }: Testbed): Promise<void> {
  const gone = ledger.acknowledged('delete token', 'delete capture').map(({ planned }) => planned);
  for (const node of nodes)
    await eachOf(gone, async ({ kind, target }) => {
      const path = kind === 'delete token' ? `/v1/tokens/${target}/inspect` : `/transactions/requests/${target}`;
      const reading: Kind = kind === 'delete token' ? 'detokenize' : 'retrieve capture';
      const fault = () => `${target} is there after its deletion`;
      await retryingClient.attempt(
        ledger.enter({ kind: reading, method: 'GET', path, target: target ?? '', fault, refusal: ANY }),
        node,
      );
    });
}

/** The table contains the acknowledged tokens, and more only for lost responses. */
export async function checkTokenCounts(testbed: Testbed): Promise<void> {
  const { ledger, expectedRecords } = testbed;
  const sizeOf = (requests: readonly Request[]): number =>
    requests.reduce((sum, { planned }) => sum + (planned.cards?.length ?? 0), 0);
  const tokenizations = ledger.acknowledged('tokenize');
  const keyed = sizeOf(tokenizations.filter(({ planned }) => planned.isKeyed === true));
  const plain = sizeOf(tokenizations.filter(({ planned }) => planned.isKeyed !== true));
  const lost = sizeOf(ledger.of('tokenize').filter((request) => request.isUnknown));
  const of = (schemes: string) => count(testbed, `tokens where format is null and scheme in (${schemes})`);
  expectBetween(testbed, 'tokens that were asked for with an Idempotency-Key', await of('3, 7'), keyed, keyed);
  expectBetween(testbed, 'tokens that were asked for without one', await of('1, 8'), plain, plain + lost);
  const deleted = ledger.acknowledged('delete token').length;
  expectBetween(
    testbed,
    'deleted tokens',
    await count(testbed, 'tokens where deleted_at is not null'),
    deleted,
    deleted,
  );
  const persistent = await count(testbed, 'tokens where format is not null');
  expectBetween(
    testbed,
    'persistent tokens',
    persistent,
    expectedRecords.persistent.size,
    expectedRecords.wantedPersistent.size,
  );
}

function expectBetween({ ledger }: Testbed, what: string, found: number, least: number, most: number): void {
  if (found < least || found > most) ledger.found(`${what}: ${found} in the table, expected ${least} to ${most}`);
}

/** No capture exists twice, and each expires in time by the right clock. */
export async function checkCaptureCounts(testbed: Testbed): Promise<void> {
  const { ledger, expectedRecords } = testbed;
  const requests = new Map(ledger.of('create capture').map((request) => [request.planned.capture?.amount, request]));
  const seen = new Set<number>();
  for (const row of await testbed.query('select id, amount, expires_at from captures')) {
    const [id, amount, expiresAt] = [row['id'], Number(row['amount']), Number(row['expires_at'])];
    const request = requests.get(amount);
    if (request === undefined) ledger.found(`no client requested capture ${id}`);
    else if (seen.has(amount)) ledger.found(`${nameOf(request)} made capture ${id}, too`);
    else if (!endsInTime(request, expiresAt) && !expectedRecords.isClockAhead(request.sentAt, lastEndOf(request)))
      ledger.found(`capture ${id} of ${nameOf(request)} ends at a wrong time`);
    seen.add(amount);
  }
}

const lastEndOf = ({ attempts }: Request): number => attempts.at(-1)?.endedAt ?? Infinity;

function endsInTime(request: Request, expiresAt: number): boolean {
  const ttl = request.planned.capture?.ttlMs ?? 0;
  const last = request.attempts.at(-1)?.endedAt ?? 0;
  const latest = Number.isNaN(request.answeredAt) ? last + LATE_MS : request.answeredAt;
  return expiresAt >= request.sentAt + ttl - TOLERANCE_MS && expiresAt <= latest + ttl + TOLERANCE_MS;
}

/** A request without a response may be executed this much later. */
const LATE_MS = 60_000;

/** The table contains nothing of an expired capture. */
export async function checkSwept(testbed: Testbed, withinMs: number): Promise<void> {
  const sql = `captures where expires_at <= ${Date.now() - TOLERANCE_MS}`;
  const until = Date.now() + withinMs;
  while ((await count(testbed, sql)) > 0) {
    if (Date.now() > until) {
      testbed.ledger.found(`${await count(testbed, sql)} captures are in the table after their end and a sweep`);
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

/**
 * The chain is intact on every node, and contains what was read: the record was on disk before the response was sent.
 */
export async function checkAuditComplete({ nodes, ledger }: Testbed): Promise<void> {
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
    if (!wasRecorded && !request.planned.path.endsWith('/inspect'))
      ledger.found(`${nameOf(request)} is not in the audit log`);
  }
}
