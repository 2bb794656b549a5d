import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { exportJournal } from '../../src/audit/verify-journal.ts';
import { Search } from '../fixtures/canaries.ts';
import { newKeyPair, publicPem } from '../fixtures/rsa-key-pairs.ts';
import { luhnPan, startTestService, type TestResponse, type TestService } from '../fixtures/test-service.ts';
import { newSender, openJose, openWssec, proxied, type Sender } from '../interface/proxy-requests.ts';

/** Canaries put through the proxy, well and not so well; then everything the service wrote or said is searched. */
const NAMES = ['Zebulon Quackenbush', 'Žofie Kvapilová-Ñandú'];
const WORD = 'canary-of-a-payload-81c2';
const USER = 'CanaryOfTheWsseUser';
const PASSWORD = 'CanaryOfTheWssePassword';
const CVV = '7391';

describe('places without data of a proxy request', { timeout: 120_000 }, () => {
  let service: TestService;
  let me: Sender;
  const [tokenPan, capturePan, wrong] = [luhnPan('411111'), luhnPan('520082'), luhnPan('542418')];
  const secrets = [tokenPan, capturePan, wrong, ...NAMES, WORD, USER, PASSWORD, '"cvv":"7391"', `<cvv>${CVV}`];
  const responses: { what: string; response: TestResponse }[] = [];

  before(async () => {
    service = await startTestService();
    me = await newSender(service);
    secrets.push(me.key);
    const token = await me.token(tokenPan, { name: NAMES[0] });
    const capture = await me.capture({ card: capturePan, name: NAMES[1], exp: '12/29', cvv: CVV });
    const settings = { 'wssec.username': USER, 'wssec.password': PASSWORD, 'wssec.order': 'sign-encrypt' };
    const other = await newSender(service, { account: me.account, environment: 'production', setup: { settings } });
    assert.equal(other.account, me.account);
    const part = (of: string): string => `{{${of}}}`;
    const members = {
      number: part(`${token}:detokenize`),
      holder: part(`${token}:detokenize | extract:name`),
      other: part(`${capture}:transaction`),
      name: part(`${capture}:transaction | extract:name`),
      cvv: part(`${capture}:transaction | extract:cvv`),
      hidden: part(`${capture}:transaction | extract:cvv | encrypt`),
      literal: `${WORD} ${wrong}`,
    };
    const json = JSON.stringify(members);
    const xml = `<a>${Object.entries(members)
      .map(([name, value]) => `<${name}>${value}</${name}>`)
      .join('')}</a>`;
    await send('good', json, xml, json);
    const encryption = JSON.stringify({ key: publicPem(newKeyPair()), is_partial: false });
    await send('encrypted', json, xml, json, { 'ft-encryption': encryption });
    const keyed = { 'idempotency-key': 'kept', 'x-request-id': wrong };
    await send('kept', json, xml, json, keyed);
    await send('kept', json, xml, json, keyed);
    for (const bad of [
      `{{${wrong}}}`,
      `{{${wrong}:detokenize}}`,
      `{{${token}:detokenize | extract:${WORD}}}`,
      `{{${NAMES[0]}`,
    ]) {
      const body = `{"${WORD}":"${bad}","${wrong}":1}`;
      await send('bad', body, `<${WORD} a="${bad}"/>`, body);
      await send('bad, kept', body, `<${WORD} a="${bad}"/>`, body, { 'idempotency-key': `bad-${responses.length}` });
    }
    await send('cut off', json.slice(0, -2), xml.slice(0, -2), `${json}{{`);
    await send('twice', `{"${wrong}":1,"${wrong}":2}`, `<a ${WORD}="1" ${WORD}="${wrong}"/>`, `{{${WORD}`);
    await send('header', json, xml, json, { 'ft-encryption': `{"type":"${wrong} ${WORD}"}` });
    await send('header', json, xml, json, { 'ft-encryption': `{"key":"${wrong} ${WORD}"}` });
    await send('header', json, xml, json, { 'ft-encryption': `${wrong} ${WORD}` });
    await send('type', json, xml, json, { 'content-type': `text/${WORD}; card=${wrong}` });
    await send('encoding', json, xml, json, { 'content-encoding': wrong });
    await send('key', json, xml, json, { 'ft-access-key': `${WORD}${wrong}` });
    await send('query', json, xml, json, {}, `type=${wrong}&name=${WORD}`);
    await opened();
    await service.core.database.backup(join(service.directory, 'copy.db'));
  });
  after(() => service.stop());

  async function send(
    what: string,
    json: string,
    xml: string,
    text: string,
    headers = {},
    query?: string,
  ): Promise<void> {
    responses.push({ what: `jose, ${what}`, response: await me.jose(json, headers) });
    responses.push({ what: `wssec, ${what}`, response: await me.wssec(xml, headers) });
    responses.push({ what: `hash, ${what}`, response: await me.hash(text, headers, query) });
  }

  /** The canaries did go through. */
  async function opened(): Promise<void> {
    const [jose, wssec] = responses.map(({ response }) => response);
    const seen = [await openJose(proxied(jose ?? assert.fail())), openWssec(proxied(wssec ?? assert.fail()).xml)];
    for (const each of seen)
      for (const secret of [tokenPan, capturePan, wrong, ...NAMES, WORD, CVV]) assert.ok(each.includes(secret));
  }

  test('files', () => {
    const search = new Search(secrets);
    const files = readdirSync(service.directory, { recursive: true, withFileTypes: true }).filter((each) =>
      each.isFile(),
    );
    for (const name of ['cardvault.db', 'cardvault.db-wal', 'copy.db'])
      assert.ok(
        files.some((each) => each.name === name),
        name,
      );
    for (const { parentPath, name } of files)
      assert.deepEqual(search.found(readFileSync(join(parentPath, name))), [], name);
  });

  test('log lines', () => {
    const log = Buffer.from(service.log.join(''));
    for (const route of ['/proxy/jose', '/proxy/wssec', '/proxy/hash']) assert.ok(log.includes(`"route":"${route}"`));
    assert.deepEqual(new Search(secrets).found(log), []);
  });

  test('metrics', async () => {
    const { status, text } = await service.call('GET', '/metrics', { environment: 'console' });
    assert.equal(status, 200);
    assert.ok(text.includes('/proxy/jose'));
    assert.deepEqual(new Search(secrets).found(Buffer.from(text)), []);
  });

  test('audit log', async () => {
    const lines: string[] = [];
    for await (const link of exportJournal(service.core.database)) lines.push(JSON.stringify(link));
    const text = lines.join('\n');
    assert.ok(text.includes('token.detokenized') && text.includes('proxy.configured'));
    assert.deepEqual(new Search(secrets).found(Buffer.from(text)), []);
  });

  test('responses, successful and failed', () => {
    const search = new Search(secrets);
    const statuses = new Set(responses.map(({ response }) => response.status));
    assert.deepEqual([...statuses].sort(), [200, 400, 403, 415]);
    for (const { what, response } of responses) {
      assert.deepEqual(search.found(Buffer.from(response.text)), [], what);
      assert.deepEqual(search.found(Buffer.from(JSON.stringify(response.headers))), [], `headers of ${what}`);
      if (response.status !== 200) assert.ok(!response.text.includes(CVV), what);
    }
  });
});
