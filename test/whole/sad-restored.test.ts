import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { runWithSettings } from '../fixtures/command.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { order, PAYMENTS } from '../interface/payment-requests.ts';
import { HASH, withKey } from '../interface/proxy-requests.ts';
import { CAPTURES, capture, dataOf } from '../interface/vault-requests.ts';

const CHD = { card: '4111111111111111', name: 'Ana Lopez', exp: '12/29', cvv: '737' };
const TRACK_2 = '4111111111111111=29121010000012345678';

describe('a backup that was created before an authorization', () => {
  let directory: string;
  let service: TestService;
  let key: string;
  let id: string;
  const backup = (): string => join(directory, 'backup.db');
  /** SQLite, also where these tests run over PostgreSQL. */
  const variables = (): Record<string, string> => ({
    CARDVAULT_DATA_DIR: directory,
    CARDVAULT_DATABASE_URL: `sqlite:${join(directory, 'cardvault.db')}`,
  });
  const start = (): Promise<TestService> => startTestService({ directory, variables: variables() });
  const newCapture = async (chd: object): Promise<string> =>
    dataOf(await service.call('POST', CAPTURES, { key, body: capture({ chd }) })).id;
  const retrieved = async (which = id) => dataOf(await service.call('GET', `${CAPTURES}/${which}`, { key }));
  const byPlaceholder = (part: string) =>
    service.call('POST', `${HASH}?type=SHA256`, {
      body: `{"a":"{{${id}:transaction|extract:${part}}}"}`,
      headers: withKey(key, 'application/json'),
    });
  const metric = async (): Promise<string | undefined> => {
    const { text } = await service.call('GET', '/metrics', { environment: 'console' });
    return /^cardvault_sad_keys_missing (\d+)$/m.exec(text)?.[1];
  };

  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'cardvault-sad-restored-'));
    service = await start();
    const account = await service.newAccount();
    await service.enablePayments(account);
    key = (await service.newKey(account)).secret;
    id = await newCapture({ ...CHD, track_2: TRACK_2 });
  });
  after(async () => {
    await service.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  test('does not contain the key, which survives a restart of the service', async () => {
    await service.core.database.backup(backup());
    await service.stop();
    service = await start();
    const { cvv, track_2 } = await retrieved();
    assert.deepEqual([cvv, track_2], [CHD.cvv, TRACK_2]);
    assert.equal(await metric(), '0');
  });

  test('contains the card without its security code once it is restored', async () => {
    // Another capture keeps the key of the hour in use.
    const other = await newCapture(CHD);
    const mark = `{{${id}:transaction}}`;
    const card = { number: mark, expiration_date: mark, security_code: mark };
    const authorized = await service.call('POST', PAYMENTS, { key, body: order('authorization', { card }) });
    assert.equal(authorized.json.status, 'success', authorized.text);
    assert.equal((await retrieved()).cvv, undefined);
    assert.equal((await retrieved(other)).cvv, CHD.cvv);
    await service.stop();
    const ran = await runWithSettings(variables(), 'restore', backup(), '--force', '--json');
    assert.deepEqual([ran.code, ran.err], [0, '']);
    assert.ok(!existsSync(join(directory, 'cardvault.db.sad-keys')));
    service = await start();
    const { pan, exp, name, cvv, track_2 } = await retrieved();
    assert.deepEqual([pan, exp, name, cvv, track_2], [CHD.card, CHD.exp, CHD.name, undefined, undefined]);
    const inspected = await service.call('GET', `${CAPTURES}/${id}/inspect`, { key });
    assert.equal(inspected.status, 200, inspected.text);
  });

  test('leads to placeholders for a part that the record lacks', async () => {
    assert.equal((await byPlaceholder('card')).status, 200);
    const { status, json } = await byPlaceholder('cvv');
    assert.equal(status, 400);
    assert.match(json.description, /the record has no security code/);
  });

  test('is reported by a metric and a log line, and accepts new captures', async () => {
    assert.equal(await metric(), '1');
    assert.ok(service.log.some((line) => line.includes('sad keys missing')));
    assert.equal((await retrieved(await newCapture(CHD))).cvv, CHD.cvv);
    assert.equal((await service.call('DELETE', `${CAPTURES}/${id}`, { key })).status, 200);
    assert.equal(await metric(), '0');
  });
});
