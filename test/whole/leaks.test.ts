import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { exportJournal } from '../../src/audit/verify-journal.ts';
import { type Row, write } from '../../src/storage/database.ts';
import { Search } from '../fixtures/canaries.ts';
import {
  type CallOptions,
  luhnPan,
  startTestService,
  type TestResponse,
  type TestService,
} from '../fixtures/test-service.ts';

/**
 * Canaries are sent wherever a caller can put anything, well-formed and not. Then every file, log line, metric, audit
 * record and failure is searched for them, in every form in which a careless program would write them.
 */
const NAMES = ['Zebulon Quackenbush', 'Žofie Kvapilová-Ñandú'];
const WORDS = ['canary-of-a-tag-5f1d', 'canary-in-additional-info-77ac'];
const KEYS = [
  'cv_sandbox_CanaryCanaryCanaryCanaryCanaryCanaryCanary0',
  'cv_production_CanaryOfTheOtherSideCanaryOfTheOther1',
];

/** Bytes: header, one byte and tag; keyed digests are shorter. */
const SHORTEST_CIPHERTEXT = 38;

describe('places without card data', { timeout: 240_000 }, () => {
  let service: TestService;
  let key: string;
  let keyName: string;
  const pans = Array.from({ length: 12 }, (_, index) => luhnPan(index % 2 === 0 ? '411111' : '5200828'));
  const longPan = luhnPan('601100', 19);
  const [pan = '', dashed = '', track = '', wrong = ''] = pans;
  const track2 = `${track}=29121010000012345678`;
  const cvvText = '"cvv":"7391"';
  const secrets = [...pans, longPan, track2, '29121010000012345678', cvvText, ...WORDS, ...KEYS];
  const responses: { what: string; response: TestResponse }[] = [];
  const stored: { token: string; id: string }[] = [];

  const files = (): { name: string; bytes: Buffer }[] =>
    (readdirSync(service.directory, { recursive: true, withFileTypes: true }) as import('node:fs').Dirent[])
      .filter((each) => each.isFile())
      .map((each) => join(each.parentPath, each.name))
      .map((name) => ({ name, bytes: readFileSync(name) }));

  const send = async (what: string, method: string, path: string, options: CallOptions = {}): Promise<TestResponse> => {
    const response = await service.call(method, path, { key, ...options });
    responses.push({ what, response });
    return response;
  };
  const simple = (body: unknown, options: CallOptions = {}) =>
    ['POST', '/v1/tokenization/simple', { body, ...options }] as const;
  const capture = (body: unknown, options: CallOptions = {}) =>
    ['POST', '/transactions/requests', { body, ...options }] as const;
  const card = (number: unknown, name = NAMES[0]) => ({ card: number, name, exp: '12/29' });
  const dashedForm = (digits: string, sign = '-'): string => (digits.match(/.{1,4}/g) ?? []).join(sign);

  before(async () => {
    service = await startTestService({ variables: { CARDVAULT_TRUSTED_PROXIES: '127.0.0.1' } });
    const account = await service.newAccount();
    const created = await service.newKey(account, { name: 'checkout' });
    key = created.secret;
    keyName = 'checkout';
    secrets.push(key);
    await sendGood();
    await sendBad();
    await sendStrange();
  });
  after(() => service.stop());

  async function sendGood(): Promise<void> {
    const cards = [card(pan), card(dashedForm(dashed)), card(pans[4], NAMES[1])];
    const created = await send('good cards', ...simple({ chd: cards, tags: [WORDS[0]], scheme: 1 }));
    assert.equal(created.status, 200, created.text);
    const exact = `{"chd":[{"card":${longPan},"name":"${NAMES[0]}","exp":"12/29"}],"tags":[],"scheme":7,"type":"persistent"}`;
    assert.equal((await send('a card as a number', ...simple(exact))).status, 200);
    const again = await send(
      'persistent',
      ...simple({ chd: [card(pans[5])], tags: [], scheme: 8, type: 'persistent' }),
    );
    await send(
      'persistent',
      ...simple({ chd: [card(pans[5], NAMES[1])], tags: [WORDS[0]], scheme: 8, type: 'persistent' }),
    );
    const info = {
      note: WORDS[1],
      [`${pans[6]}`]: pans[6],
      deep: [{ name: NAMES[1], card: dashedForm(pans[6] ?? '', ' ') }],
    };
    const chd = { card: pan, name: NAMES[0], exp: '12/29', cvv: '7391' };
    const headers = { 'idempotency-key': pans[7] ?? '', 'x-request-id': pans[7] ?? '' };
    const one = await send(
      'capture',
      ...capture({ chd, amount: 1, currency: 'usd', additional_info: info, ttl: 60 }, { headers }),
    );
    await send(
      'capture again',
      ...capture({ chd, amount: 1, currency: 'usd', additional_info: info, ttl: 60 }, { headers }),
    );
    const swiped = {
      chd: { track_2: `;${track2}?`, cvv: 7391 },
      amount: 0,
      currency: 'EUR',
      additional_info: {},
      TTL: '60',
    };
    const two = await send('track 2', ...capture(swiped));
    for (const { status, text } of [again, one, two]) assert.equal(status, 200, text);
    const id = String(two.json.data.id);
    stored.push({ token: created.json.data.tokens[0].token, id });
    const opened = await service.call('GET', `/transactions/requests/${id}`, { key });
    // The canaries that are searched for below really are in there.
    assert.equal(opened.json.data.track_2, track2);
    assert.equal(opened.json.data.cvv, '7391');
    await send('inspection', 'GET', `/transactions/requests/${one.json.data.id}/inspect`);
    await send('inspection', 'GET', `/v1/tokens/${created.json.data.tokens[0].token}/inspect`);
    await send('tokenize', 'POST', `/transactions/requests/${one.json.data.id}/tokenize`, {
      body: { tags: [WORDS[0]], scheme: 3 },
    });
  }

  async function sendBad(): Promise<void> {
    const good = { chd: [card(wrong)], tags: [], scheme: 1 };
    const text = JSON.stringify(good);
    const bodies: [string, unknown][] = [
      ['cut off', text.slice(0, -5)],
      ['text behind', `${text}${wrong}`],
      ['a bare card number', wrong],
      ['a quoted card number', `"${wrong}"`],
      ['a list', `[${text}]`],
      ['invalid UTF-8', Buffer.concat([Buffer.from(text), Buffer.from([0xff])])],
      ['a card number as key', { ...good, scheme: 9, [wrong]: { [wrong]: NAMES[0] } }],
      ['the key twice', `{"${wrong}":1,"${wrong}":2}`],
      ['too deep', `${'['.repeat(40)}"${wrong}"${']'.repeat(40)}`],
      ['a bad card', { ...good, chd: [card(`${wrong}x`), card(wrong)] }],
      ['a card of 20 digits', { ...good, chd: [card(`${wrong}9999`)] }],
      [
        'a card with a fraction',
        `{"chd":[{"card":${wrong}.5,"name":"${NAMES[0]}","exp":"12/29"}],"tags":[],"scheme":1}`,
      ],
      ['exp', { ...good, chd: [{ card: pan, name: NAMES[0], exp: wrong }] }],
      ['name', { ...good, chd: [{ card: pan, name: `${NAMES[0]}\u0000${wrong}`, exp: '12/29' }] }],
      ['a name too long', { ...good, chd: [{ card: pan, name: `${NAMES[0]} ${wrong} `.repeat(20), exp: '12/29' }] }],
      ['tags', { ...good, tags: wrong }],
      ['a tag', { ...good, tags: [{ card: wrong }] }],
      ['a long tag', { ...good, tags: [`${WORDS[0]}${wrong}`.repeat(20)] }],
      ['scheme', { ...good, scheme: wrong }],
      ['type', { ...good, type: `${NAMES[0]} ${wrong}` }],
      ['bin', { ...good, isEightDigitsBin: wrong }],
      ['no Luhn', { ...good, chd: [card(`${wrong.slice(0, -1)}${(Number(wrong.at(-1)) + 1) % 10}`)] }],
      ['too large', JSON.stringify({ ...good, filler: `${wrong} ${NAMES[0]} `.repeat(40_000) })],
    ];
    for (const [what, body] of bodies) await send(`cards: ${what}`, ...simple(body));
    const fine = {
      chd: { card: wrong, name: NAMES[0], exp: '12/29', cvv: '7391' },
      amount: 1,
      currency: 'USD',
      additional_info: {},
      ttl: 5,
    };
    const captures: [string, unknown][] = [
      ['cvv', { ...fine, chd: { ...fine.chd, cvv: wrong } }],
      ['another card in track 2', { ...fine, chd: { ...fine.chd, track_2: track2 } }],
      ['track 2', { ...fine, chd: { track_2: `%${track2}${NAMES[0]}` } }],
      ['amount', { ...fine, amount: `${wrong}${wrong}` }],
      ['currency', { ...fine, currency: wrong }],
      ['ttl', { ...fine, ttl: wrong }],
      ['two ttls', { ...fine, TTL: 6 }],
      ['info', { ...fine, additional_info: wrong }],
      ['info too large', { ...fine, additional_info: { note: `${WORDS[1]} ${wrong}`.repeat(1000) } }],
      ['reserved', { ...fine, additional_info: { pan_index: wrong } }],
      ['no card', { ...fine, chd: { name: NAMES[0] } }],
      ['chd', { ...fine, chd: `${wrong} ${NAMES[0]}` }],
    ];
    for (const [what, body] of captures) await send(`capture: ${what}`, ...capture(body));
    for (const { what, response } of responses.filter((each) => /^(cards|capture): /.test(each.what)))
      assert.ok(response.status >= 400, `${what} was answered ${response.status}`);
  }

  async function sendStrange(): Promise<void> {
    const body = { chd: [card(wrong)], tags: [], scheme: 1 };
    const types = [
      'text/plain',
      'application/xml',
      'application/x-www-form-urlencoded',
      wrong,
      `multipart/form-data; boundary=${wrong}`,
    ];
    for (const type of types) await send(`type ${type}`, ...simple(body, { headers: { 'content-type': type } }));
    await send('encoding', ...simple(body, { headers: { 'content-encoding': wrong } }));
    const spellings = [
      wrong,
      dashedForm(wrong),
      encodeURIComponent(dashedForm(wrong, ' ')),
      track2,
      NAMES[0],
      KEYS[0],
      `${wrong}%`,
      `%E0%A4${wrong}`,
      `${wrong}x`.repeat(400),
    ];
    for (const text of spellings) {
      const part = String(text).replaceAll(' ', '%20');
      for (const path of [
        '/v1/tokens/X/inspect',
        '/transactions/requests/X',
        '/transactions/requests/X/inspect',
        '/X',
        '/v1/X',
        '/docs/X',
      ])
        await send('path', 'GET', path.replace('X', part));
      await send('path', 'DELETE', `/transactions/requests/${part}`);
      await send('path', 'POST', `/transactions/requests/${part}/tokenize`, { body: { tags: [], scheme: 1 } });
      await send('method', 'PUT', `/v1/tokens/${part}/inspect`, { body });
      await send('query', 'GET', `/v1/tokens/none/inspect?card=${part}&name=${part}`);
      await send('console', 'GET', `/${part}?${part}`, { environment: 'console' });
      await send('production', 'GET', `/v1/tokens/${part}/inspect`, { environment: 'production' });
    }
    await send('a long path', 'GET', `/v1/tokens/${wrong.repeat(700)}/inspect`);
    const deletion = await send('deletion', 'DELETE', '/v1/tokens', { body: { tokens: [wrong, dashedForm(wrong)] } });
    assert.equal(deletion.status, 200);
    const visible = (text: string): string => text.replaceAll(' ', '_');
    for (const text of [wrong, dashedForm(wrong), `x${wrong}`, track2, String(NAMES[0]), KEYS[1]]) {
      const headers = {
        'idempotency-key': visible(String(text)),
        'user-agent': String(text),
        referer: `https://shop.example/${visible(String(text))}`,
        cookie: `card=${visible(String(text))}`,
        authorization: `Bearer ${text}`,
        'ft-access-key': String(text),
        forwarded: `for=${visible(String(text))}`,
        'x-anything': String(text),
        // A name and a key are letters like any other: what a caller calls a request is kept.
        ...(/[0-9]{12}|-[0-9]{4}-/.test(String(text)) && { 'x-request-id': String(text) }),
      };
      await send('headers, good', ...simple({ ...body, chd: [card(pan)] }, { headers }));
      await send('headers, bad', ...simple({ ...body, chd: [] }, { headers }));
      await send('headers, no key', 'GET', '/v1/account', { headers: { ...headers, 'x-api-key': '' } });
      await send('address', 'GET', '/v1/account', { headers: { 'x-forwarded-for': String(text) } });
      await send('key', 'GET', '/v1/account', { key: String(text), headers });
    }
    await send('idempotency key', ...simple(body, { headers: { 'idempotency-key': `${wrong} `.repeat(40) } }));
    // A record that cannot be opened: the failure of the service itself.
    const [row] = await service.core.database.read('select slot from tokens where format is not null limit 1');
    const damage = write('update tokens set record = ? where slot = ?', [new Uint8Array(40), row?.['slot'] ?? ''], 1);
    await service.core.database.commit({ writes: [damage] });
    for (const number of [longPan, pans[5] ?? '']) {
      const options = {
        body: { chd: [card(number)], tags: [], scheme: number === longPan ? 7 : 8, type: 'persistent' },
      };
      await send('damaged record', 'POST', '/v1/tokenization/simple', options);
    }
    assert.ok(responses.some(({ what, response }) => what === 'damaged record' && response.status === 500));
  }

  test('the search finds every encoding of a canary', () => {
    const search = new Search([pan, NAMES[1] ?? '', track2]);
    const sixteen = Buffer.alloc(8);
    sixteen.writeBigInt64BE(BigInt(pan));
    const hidden: [string, Buffer][] = [
      [pan, Buffer.from(`xx${pan}yy`)],
      [pan, Buffer.from(dashedForm(pan))],
      [pan, Buffer.from(dashedForm(pan, ' '))],
      [pan, Buffer.from(`{"card":"${pan}"}`, 'utf16le')],
      [pan, Buffer.from(Buffer.from(`{"card":"${pan}"}`).toString('base64'))],
      [pan, Buffer.from(Buffer.from(`{"card": "${pan}"}`).toString('base64url'))],
      [pan, Buffer.from(Buffer.from(`{"card" : "${pan}"}`).toString('base64'))],
      [pan, Buffer.from(Buffer.from(pan).toString('hex'))],
      [pan, Buffer.concat([Buffer.from([1]), sixteen, Buffer.from([2])])],
      [pan, createHash('sha256').update(pan).digest()],
      [NAMES[1] ?? '', Buffer.from(`name: ${NAMES[1]}.`)],
      [NAMES[1] ?? '', Buffer.from(encodeURIComponent(NAMES[1] ?? ''))],
      [track2, Buffer.from(`;${track2}?`)],
    ];
    for (const [canary, bytes] of hidden) assert.ok(search.found(bytes).includes(canary));
    assert.deepEqual(search.found(Buffer.from(`${pan.slice(0, 6)}******${pan.slice(-4)}`)), []);
  });

  test('database, write-ahead log, backup and every other file', async () => {
    await service.core.database.backup(join(service.directory, 'copy.db'));
    const search = new Search([...secrets, ...NAMES]);
    const all = files();
    assert.ok(all.some(({ name }) => /cardvault\.db\.sad-keys\/sandbox-[0-9]+$/.test(name)));
    const names = all.map(({ name }) => name.slice(service.directory.length + 1));
    for (const name of ['cardvault.db', 'cardvault.db-wal', 'cardvault.db-shm', 'copy.db', 'root.key'])
      assert.ok(names.includes(name));
    for (const { name, bytes } of all) assert.deepEqual(search.found(bytes), [], name);
    // The search does look at where records are: what is not secret is found.
    const captureId = Buffer.from(stored[0]?.id ?? '');
    assert.ok(all.some(({ name, bytes }) => /cardvault\.db(-wal)?$/.test(name) && bytes.includes(captureId)));
    assert.ok(all.some(({ name, bytes }) => name.endsWith('copy.db') && bytes.includes(captureId)));
  });

  test('log lines', () => {
    const log = Buffer.from(service.log.join(''));
    assert.ok(service.log.length > responses.length);
    assert.ok(log.includes('"route":"/v1/tokens/:token/inspect"'));
    assert.deepEqual(new Search([...secrets, ...NAMES, '7391']).found(withoutNumbers(log)), []);
    assert.deepEqual(new Search([...secrets, ...NAMES]).found(log), []);
  });

  test('metrics', async () => {
    const { status, text } = await service.call('GET', '/metrics', { environment: 'console' });
    assert.equal(status, 200);
    assert.ok(text.includes('cardvault_http_request_duration_seconds'));
    assert.deepEqual(new Search([...secrets, ...NAMES]).found(Buffer.from(text)), []);
  });

  test('audit log', async () => {
    const lines: string[] = [];
    for await (const link of exportJournal(service.core.database)) lines.push(JSON.stringify(link));
    const text = lines.join('\n');
    assert.ok(text.includes('capture.retrieved') && text.includes('access.denied') && text.includes(keyName));
    assert.deepEqual(new Search([...secrets, ...NAMES]).found(Buffer.from(text)), []);
  });

  test('failures, and responses without a card', () => {
    const failures = responses.filter(({ response }) => response.status >= 400);
    assert.ok(failures.length > 100);
    assert.ok(new Set(failures.map(({ response }) => response.status)).size >= 6);
    const search = new Search([...secrets, ...NAMES, '7391']);
    for (const { what, response } of failures) {
      const headers = JSON.stringify(response.headers);
      assert.deepEqual(search.found(Buffer.from(response.text)), [], `${what}: ${response.status}`);
      assert.deepEqual(new Search([...secrets, ...NAMES]).found(Buffer.from(headers)), [], `headers of ${what}`);
    }
    const cards = new Search([...pans, longPan, cvvText, key]);
    for (const { what, response } of responses) {
      // The answer to a deletion names what it was asked to delete.
      if (what !== 'deletion') assert.deepEqual(cards.found(Buffer.from(response.text)), [], what);
      assert.deepEqual(cards.found(Buffer.from(JSON.stringify(response.headers))), [], `headers of ${what}`);
    }
  });

  /** Every sealed or keyed value of these rows. */
  const blobsOf = (rows: readonly Row[]): Uint8Array[] =>
    rows.flatMap((row) => Object.values(row).filter((value) => value instanceof Uint8Array));
  /** Returns those of the values that are in a file of the database. */
  function inDatabase(values: readonly Uint8Array[]): Uint8Array[] {
    const database = files().filter(({ name }) => /cardvault\.db/.test(name));
    return values.filter((value) => database.some(({ bytes }) => bytes.includes(Buffer.from(value))));
  }

  test('the database files after a deletion', async () => {
    const { database } = service.core;
    const chd = Array.from({ length: 300 }, () => card(luhnPan('455667')));
    const created = await service.call('POST', '/v1/tokenization/simple', {
      key,
      body: { chd, tags: [WORDS[0]], scheme: 7, type: 'persistent' },
    });
    // Once more with a longer name, so that every row is rewritten and moved.
    const renamed = chd.map((each) => ({ ...each, name: `${NAMES[0]} ${'x'.repeat(150)}` }));
    await service.call('POST', '/v1/tokenization/simple', {
      key,
      body: { chd: renamed, tags: [], scheme: 7, type: 'persistent' },
    });
    const tokens: string[] = created.json.data.tokens.map((each: { token: string }) => each.token);
    const ids: string[] = [];
    for (let index = 0; index < 50; index++) {
      const body = {
        chd: { card: luhnPan('455667'), cvv: '7391' },
        amount: index,
        currency: 'USD',
        additional_info: {},
        ttl: 60,
      };
      ids.push((await service.call('POST', '/transactions/requests', { key, body })).json.data.id);
    }
    const tokenRows = await database.read(
      'select record, fingerprint from tokens where scheme = 7 and format is not null and length(record) > 250',
    );
    const captureRows = await database.read(
      `select record, sad, fingerprint from captures where amount < 50 and id in (${ids.map(() => '?')})`,
      ...ids,
    );
    const sealed = [...blobsOf(tokenRows), ...blobsOf(captureRows)];
    assert.equal(sealed.length, 300 * 2 + 50 * 3);
    assert.equal(sealed.filter(({ length }) => length >= SHORTEST_CIPHERTEXT).length, 300 + 50 * 2);
    assert.equal(inDatabase(sealed).length, sealed.length);

    const deletion = await service.call('DELETE', '/v1/tokens', { key, body: { tokens } });
    assert.ok(deletion.json.data.tokens.every((each: { status: string }) => each.status === 'success'));
    for (const id of ids)
      assert.equal((await service.call('DELETE', `/transactions/requests/${id}`, { key })).status, 200);
    await database.scrub();
    const left = inDatabase(sealed);
    const ciphertexts = left.filter(({ length }) => length >= SHORTEST_CIPHERTEXT);
    assert.equal(ciphertexts.length, 0, `${ciphertexts.length} ciphertexts are still in the files`);
    // SQLite overwrites what it deletes, but not the copies of moved index entries in the gaps of pages it has split.
    assert.ok(left.length <= sealed.length * 0.02, `${left.length} of ${sealed.length} values are still in the files`);
  });

  test('the database files a minute after a capture has expired', async () => {
    const body = { chd: { card: pans[8], cvv: '7391' }, amount: 1, currency: 'USD', additional_info: {}, ttl: 1 };
    const { id } = (await service.call('POST', '/transactions/requests', { key, body })).json.data;
    const rows = await service.core.database.read('select record, sad, fingerprint from captures where id = ?', id);
    const sealed = blobsOf(rows);
    assert.equal(sealed.length, 3);
    assert.equal(inDatabase(sealed).length, sealed.length);
    service.advance(61_000);
    const end = Date.now() + 60_000;
    while (inDatabase(sealed).length > 0) {
      assert.ok(Date.now() < end, 'still in the files after a minute');
      await pause(500);
    }
  });
});

/** Times, durations and ports occasionally contain any four digits. */
const withoutNumbers = (log: Buffer): Buffer =>
  Buffer.from(
    log
      .toString('utf8')
      .replace(/"(time|duration_ms|request_id|account|key|address)":("[^"]*"|[0-9.]+)/g, '"$1":0')
      .replace(/:[0-9]+:[0-9]+/g, ''),
  );
