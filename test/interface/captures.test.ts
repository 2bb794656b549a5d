import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { shareService } from '../fixtures/shared-service.ts';
import { luhnPan, type TestService } from '../fixtures/test-service.ts';
import {
  assertForbidden,
  assertRefused,
  CAPTURES,
  type Caller,
  capture,
  dataOf,
  newCaller,
  UUID,
  VISA,
} from './vault-requests.ts';

const shared = shareService();

const GONE = 'id: no such capture, or its ttl has ended';
const TRACK = `${VISA}=31011010000012345678`;

let service: TestService;
let me: Caller;
before(async () => {
  service = await shared.open();
  me = await newCaller(service);
});
after(() => shared.close());

const create = (body: unknown) => me.send('POST', CAPTURES, body);
const retrieve = async (id: string) => dataOf(await me.send('GET', `${CAPTURES}/${id}`));
/** The retrieved data of a new capture. */
const roundTrip = async (more: object) => retrieve(await me.capture(more));
const isRow = (row: object): row is { expires_at: number; created_at: number } => 'expires_at' in row;

describe('POST /transactions/requests', () => {
  describe('200', () => {
    test('the response is an id and nothing else', async () => {
      const response = await create(capture());
      const { id, ...rest } = dataOf(response);
      assert.match(id, UUID);
      assert.deepEqual(rest, {});
      assert.notEqual(dataOf(await me.send('POST', `${CAPTURES}/`, capture())).id, id);
    });

    test('one of card, cvv and track 2 is sufficient, and absent values are omitted', async () => {
      const fixed = { amount: 12500, currency: 'USD' };
      const { id: _, additional_info, ...byCard } = await roundTrip({ chd: { card: VISA } });
      assert.deepEqual(byCard, { pan: VISA, ...fixed });
      assert.deepEqual(Object.keys(additional_info), ['pan_index']);
      const { id: __, ...byCode } = await roundTrip({ chd: { cvv: '0123' } });
      assert.deepEqual(byCode, { cvv: '0123', ...fixed, additional_info: {} });
      const { id: ___, additional_info: info, ...byTrack } = await roundTrip({ chd: { track_2: TRACK } });
      assert.deepEqual(byTrack, { pan: VISA, exp: '01/31', track_2: TRACK, ...fixed });
      assert.equal(info.pan_index, additional_info.pan_index);
    });

    test('null and empty optional fields count as absent, unknown fields are ignored', async () => {
      const chd = { card: VISA, name: '', exp: null, cvv: '', track_2: null, pin: '9999' };
      const { id: _, additional_info: __, ...rest } = await roundTrip({ chd, TTL: null, unknown: [] });
      assert.deepEqual(rest, { pan: VISA, amount: 12500, currency: 'USD' });
      assert.equal((await roundTrip({ chd: { card: '', cvv: 123 } })).pan, undefined);
      assert.equal((await roundTrip({ ttl: '', TTL: 5 })).pan, VISA);
    });

    test('numbers and numeric strings mean the same', async () => {
      for (const [body, pan] of [
        [capture({ chd: { card: Number(VISA), cvv: 123 }, amount: 0, ttl: 1 }), VISA],
        [capture({ chd: { card: '4111-1111 1111-1111', cvv: '123' }, amount: '0', ttl: '1' }), VISA],
      ]) {
        const data = await retrieve(dataOf(await create(body)).id);
        assert.deepEqual({ pan: data.pan, cvv: data.cvv, amount: data.amount }, { pan, cvv: '123', amount: 0 });
      }
      assert.equal((await roundTrip({ chd: { cvv: '007' } })).cvv, '007');
      assert.equal((await roundTrip({ chd: { cvv: 1234 } })).cvv, '1234');
    });

    test('a card of 12 to 19 digits that is sent as a number keeps every digit', async () => {
      for (let length = 12; length <= 19; length++) {
        const pan = luhnPan('9223372', length);
        const body = JSON.stringify(capture({ chd: { card: 0 } })).replace('"card":0', `"card":${pan}`);
        assert.equal((await retrieve(dataOf(await create(body)).id)).pan, pan);
      }
    });

    test('the amount is up to 2^53-1 and is a number in responses', async () => {
      for (const amount of [0, 1, 9007199254740991, '9007199254740991'])
        assert.equal((await roundTrip({ amount })).amount, Number(amount));
    });

    test('the currency is accepted in either case and returned in upper case', async () => {
      for (const currency of ['cop', 'Cop', 'COP']) assert.equal((await roundTrip({ currency })).currency, 'COP');
      for (const currency of ['JPY', 'KWD', 'CLF', 'XXX'])
        assert.equal((await roundTrip({ currency })).currency, currency);
    });

    test('the ttl is counted in minutes, 1 to 10080, and may be written TTL', async () => {
      for (const [more, minutes] of [
        [{ ttl: 1 }, 1],
        [{ ttl: 10080 }, 10080],
        [{ ttl: undefined, TTL: 1440 }, 1440],
        [{ ttl: 60, TTL: '60' }, 60],
        [{ ttl: null, TTL: 7 }, 7],
      ] as const) {
        const id = await me.capture(more);
        const [row] = await service.core.database.read('select created_at, expires_at from captures where id = ?', id);
        assert.ok(row !== undefined && isRow(row));
        assert.equal(row.expires_at - row.created_at, minutes * 60_000);
      }
    });

    test('the name at its limit, with characters of every kind', async () => {
      for (const name of ['🙂'.repeat(255), 'José "Pepe" \\ Ñandú', 'a\ud800b'])
        assert.equal((await roundTrip({ chd: { card: VISA, name } })).name, name);
    });

    test('no value that was sent is in the log or readable in the database', async () => {
      const chd = { card: luhnPan('601100'), name: 'Zoraida Quispe', exp: '12/29', cvv: '9182' };
      const id = await me.capture({ chd, additional_info: { note: 'private note' } });
      const [row] = await service.core.database.read('select * from captures where id = ?', id);
      const stored = Object.values(row ?? {}).map((value) =>
        value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value),
      );
      const secret = new RegExp(`${chd.card}|Zoraida|"9182"|private note`);
      assert.ok(stored.length > 5);
      assert.doesNotMatch(stored.join(' '), secret);
      assert.doesNotMatch(service.log.join('\n'), secret);
    });
  });

  describe('200, track 2', () => {
    test('with or without sentinels, returned without them', async () => {
      for (const track of [TRACK, `;${TRACK}?`, `;${TRACK}?7`, `${TRACK}?`, TRACK.replace('=', 'D')])
        assert.equal(
          (await roundTrip({ chd: { track_2: track } })).track_2,
          track.replace(/^;/, '').replace(/\?.?$/, ''),
        );
    });

    test('the same card number again, and an exp that takes precedence', async () => {
      const data = await roundTrip({ chd: { track_2: TRACK, card: '4111 1111 1111 1111', exp: '05/28', cvv: '321' } });
      assert.deepEqual(
        { pan: data.pan, exp: data.exp, track: data.track_2, cvv: data.cvv },
        { pan: VISA, exp: '05/28', track: TRACK, cvv: '321' },
      );
    });

    test('without an expiry in the track there is none', async () => {
      const data = await roundTrip({ chd: { track_2: `${VISA}==1010000` } });
      assert.deepEqual([data.pan, data.exp], [VISA, undefined]);
    });
  });

  describe('403', () => {
    test('every cause has the same body', () =>
      assertForbidden(service, { method: 'POST', path: CAPTURES, body: capture() }, 'captures:create'));
  });
});

describe('GET /transactions/requests/{id}', () => {
  describe('200', () => {
    test('every member of the capture', async () => {
      const chd = { card: VISA, name: 'Ana Lopez', exp: '12/29', cvv: '123', track_2: TRACK };
      const id = await me.capture({ chd, additional_info: { order: 'A-1001' } });
      const response = await me.send('GET', `${CAPTURES}/${id}`);
      const { additional_info: info, ...data } = dataOf(response);
      assert.deepEqual(data, {
        id,
        pan: VISA,
        exp: '12/29',
        name: 'Ana Lopez',
        cvv: '123',
        track_2: TRACK,
        amount: 12500,
        currency: 'USD',
      });
      assert.deepEqual(Object.keys(info), ['order', 'pan_index']);
      assert.match(info.pan_index, /^[0-9a-f]{32}$/);
      assert.equal((await me.send('GET', `${CAPTURES}/${id}/`)).text, response.text);
      assert.equal((await me.send('GET', `${CAPTURES}/${id}`)).text, response.text);
    });

    test('pan_index is equal for equal card numbers, and differs by account and environment', async () => {
      const index = async (caller: Caller, card: string) => {
        const id = await caller.capture({ chd: { card } });
        return dataOf(await caller.send('GET', `${CAPTURES}/${id}`)).additional_info.pan_index;
      };
      const [other, production] = [
        await newCaller(service),
        await newCaller(service, { account: me.account, environment: 'production' }),
      ];
      const mine = await index(me, VISA);
      assert.equal(await index(me, '4111-1111-1111-1111'), mine);
      assert.equal(await index(await newCaller(service, { account: me.account }), VISA), mine);
      assert.notEqual(await index(me, '5555555555554444'), mine);
      const elsewhere = [await index(other, VISA), await index(production, VISA)];
      assert.equal(new Set([mine, ...elsewhere]).size, 3);
    });
  });

  describe('400', () => {
    test('an id that does not exist or has another format', async () => {
      const id = await me.capture();
      const ids = [
        '00000000-0000-4000-8000-000000000000',
        id.toUpperCase(),
        `${id}0`,
        VISA,
        'x',
        encodeURIComponent('a/b'),
      ];
      for (const other of ids) assertRefused(await me.send('GET', `${CAPTURES}/${other}`), GONE, other);
    });

    test('a capture of another account or environment', async () => {
      const id = await me.capture();
      for (const options of [{}, { account: me.account, environment: 'production' as const }]) {
        const other = await newCaller(service, options);
        assertRefused(await other.send('GET', `${CAPTURES}/${id}`), GONE, id);
      }
    });

    test('a token', async () => {
      const [record] = dataOf(
        await me.send('POST', `${CAPTURES}/${await me.capture()}/tokenize`, { tags: [], scheme: 7 }),
      ).tokens;
      assertRefused(await me.send('GET', `${CAPTURES}/${record.token}`), GONE, record.token);
    });
  });

  describe('403', () => {
    test('every cause has the same body', async () => {
      const path = `${CAPTURES}/${await me.capture()}`;
      await assertForbidden(service, { method: 'GET', path }, 'captures:retrieve');
    });
  });
});

describe('DELETE /transactions/requests/{id}', () => {
  const remove = (id: string, path = `${CAPTURES}/${id}`) => me.send('DELETE', path);

  describe('200', () => {
    test('deletes a capture immediately, with and without trailing slash', async () => {
      for (const slash of ['', '/']) {
        const id = await me.capture();
        assert.deepEqual(dataOf(await remove(id, `${CAPTURES}/${id}${slash}`)), { id, status: 'success' });
        assertRefused(await me.send('GET', `${CAPTURES}/${id}`), GONE);
        assert.deepEqual(dataOf(await me.send('GET', `${CAPTURES}/${id}/inspect`)), { id, status: 'fail' });
        assertRefused(await me.send('POST', `${CAPTURES}/${id}/tokenize`, { tags: [], scheme: 1 }), GONE);
        assert.deepEqual(await service.core.database.read('select id from captures where id = ?', id), []);
      }
    });

    test('20 concurrent deletions: one succeeds', async () => {
      const id = await me.capture();
      const statuses = (await Promise.all(Array.from({ length: 20 }, () => remove(id)))).map(({ status }) => status);
      assert.deepEqual(statuses.sort(), [200, ...Array.from({ length: 19 }, () => 400)]);
    });
  });

  describe('400', () => {
    test('missing, deleted, or malformed', async () => {
      const id = await me.capture();
      dataOf(await remove(id));
      for (const other of [id, '00000000-0000-4000-8000-000000000000', VISA, 'x'])
        assertRefused(await remove(other), GONE, other);
    });

    test('a capture of another account or environment is unchanged', async () => {
      const id = await me.capture();
      for (const options of [{}, { account: me.account, environment: 'production' as const }]) {
        const other = await newCaller(service, options);
        assertRefused(await other.send('DELETE', `${CAPTURES}/${id}`), GONE, id);
      }
      await retrieve(id);
    });
  });

  describe('403', () => {
    test('every cause has the same body, and nothing is deleted', async () => {
      const id = await me.capture();
      await assertForbidden(service, { method: 'DELETE', path: `${CAPTURES}/${id}` }, 'captures:delete');
      await retrieve(id);
    });
  });
});
