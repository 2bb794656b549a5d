import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { exportJournal, verifyJournal } from '../../src/audit/verify.ts';
import { type Answer, type House, startHouse } from '../house.ts';
import { type AuditRecord, assertRefused, newSender, proxied, type Sender } from './proxy.ts';

const PAN = '4111111111111111';
const NOBODY = '0f4e2c9a-5d1b-4b7e-9c3a-8a1d2e3f4b5c';

let house: House;
let me: Sender;
let token: string;
let capture: string;
before(async () => {
  house = await startHouse();
  me = await newSender(house);
  token = await me.token(PAN, { name: 'Zebulon Quackenbush' });
  capture = await me.capture({ card: PAN, name: 'Zebulon Quackenbush', exp: '12/29', cvv: '7391' });
});
after(() => house.stop());

/** What one request adds to the audit log. */
async function added(send: () => Promise<Answer>): Promise<AuditRecord[]> {
  const before = (await me.reads()).length;
  await send();
  return (await me.reads()).slice(before);
}

const ENDPOINTS: readonly [use: string, send: (text: string) => Promise<Answer>][] = [
  ['jose', (text) => me.jose({ cvv: text, other: [text, { mcc: text }] })],
  ['wssec', (text) => me.wssec(`<a b="${text}">${text}<c><![CDATA[${text}]]></c></a>`)],
  ['hash', (text) => me.hash(`${text} ${text} ${text}`)],
];

for (const [use, send] of ENDPOINTS) {
  describe(`the audit log of ${use}`, () => {
    test('has each record once per request, however often it is named', async () => {
      const text = `{{${token}:detokenize}} {{ ${token} : detokenize | extract:name}}{{${capture}:transaction | extract:cvv}}`;
      const records = await added(async () => {
        const answer = await send(text);
        proxied(answer);
        return answer;
      });
      const sorted = records.sort((one, other) => (one.action < other.action ? -1 : 1));
      assert.deepEqual(
        sorted.map(({ action, outcome, environment, targets, detail }) => ({
          action,
          outcome,
          environment,
          targets,
          detail,
        })),
        [
          {
            action: 'capture.retrieved',
            outcome: 'success',
            environment: 'sandbox',
            targets: [`capture:${capture}`],
            detail: { use },
          },
          {
            action: 'token.detokenized',
            outcome: 'success',
            environment: 'sandbox',
            targets: [`token:${token}`],
            detail: { use },
          },
        ],
      );
    });

    test('has nothing of a request without placeholders, or with one that is malformed', async () => {
      assert.deepEqual(await added(() => send('plain')), []);
      assert.deepEqual(await added(() => send(`{{${token}:detokenize}}{{x`)), []);
    });

    test('has what is missing, and not what the caller wrote', async () => {
      for (const unknown of [NOBODY, PAN]) {
        const [first, ...more] = await added(() => send(`{{${unknown}:detokenize}}`));
        assert.deepEqual([first?.action, first?.outcome, first?.targets], ['token.detokenized', 'missing', []]);
        assert.deepEqual(more, []);
      }
      const [one] = await added(() => send(`{{${PAN}:transaction}}`));
      assert.deepEqual([one?.action, one?.outcome, one?.targets], ['capture.retrieved', 'missing', []]);
      const [two] = await added(() => send(`{{${NOBODY}:transaction}}`));
      assert.deepEqual([two?.outcome, two?.targets], ['missing', [`capture:${NOBODY}`]]);
    });

    test('has the records that were read beside one that is missing, or that lacks a part', async () => {
      const records = await added(() => send(`{{${token}:detokenize}}{{${NOBODY}:detokenize}}`));
      assert.deepEqual(records.map(({ outcome }) => outcome).sort(), ['missing', 'success']);
      const bare = await me.capture({ cvv: '7391' });
      const [read] = await added(() => send(`{{${bare}:transaction}}`));
      assert.deepEqual([read?.outcome, read?.targets], ['success', [`capture:${bare}`]]);
    });

    test('has the key, the address and the request', async () => {
      const answer = await send(`{{${token}:detokenize}}`);
      const found = [];
      for await (const { record } of exportJournal(house.core.database)) {
        const parsed = JSON.parse(record);
        if (parsed.request_id === answer.headers['x-request-id']) found.push(parsed);
      }
      assert.equal(found.length, 1);
      assert.deepEqual(found[0].actor, { type: 'key', id: me.keyId, name: 'test' });
      assert.equal(found[0].address, '127.0.0.1');
    });

    test('has the record before the answer comes, of each of many at once', async () => {
      const tokens = await Promise.all(Array.from({ length: 20 }, () => me.token(PAN)));
      await Promise.all(
        tokens.map(async (each) => {
          proxied(await send(`{{${each}:detokenize}}`));
          const records = (await me.reads()).filter(({ targets }) => targets.includes(`token:${each}`));
          assert.equal(records.length, 1);
        }),
      );
    });
  });
}

test('an endpoint that is not configured reads nothing', async () => {
  const bare = await newSender(house, { setup: false });
  const own = await bare.token(PAN);
  assertRefused(await bare.jose({ cvv: `{{${own}:detokenize}}` }), /^not configured/);
  assertRefused(await bare.wssec(`<a>{{${own}:detokenize}}</a>`), /^not configured/);
  assert.deepEqual(await bare.reads(), []);
});

test('configuring is in the audit log, with fingerprints and names and no value', async () => {
  const secret = 'PasswordOfTheCanary';
  const own = await newSender(house, { setup: { settings: { 'wssec.username': 'u', 'wssec.password': secret } } });
  const records = [];
  for await (const link of exportJournal(house.core.database))
    if (link.account === own.account) records.push(JSON.parse(link.record));
  const [configured] = records.filter(({ action }) => action === 'proxy.configured');
  assert.equal(configured.outcome, 'success');
  assert.deepEqual(configured.detail, { settings: ['wssec.username', 'wssec.password'], overlap_minutes: 0 });
  assert.ok(!JSON.stringify(records).includes(secret));
});

test('the audit log is whole, and holds nothing of a card', async () => {
  const lines: string[] = [];
  for await (const link of exportJournal(house.core.database)) lines.push(JSON.stringify(link));
  const text = lines.join('\n');
  for (const secret of [PAN, 'Zebulon', '7391"', '12/29']) assert.ok(!text.includes(secret), secret);
  const { core } = house;
  assert.equal((await verifyJournal(core.database, core.journalKey)).fault, undefined);
});
