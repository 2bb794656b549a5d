import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { locatePlaceholders } from '../../test/fixtures/placeholder-fixtures.ts';
import { startTestService, type TestService } from '../../test/fixtures/test-service.ts';
import { inTransaction } from '../../test/fixtures/transactions.ts';
import type { Permission } from '../accounts/permission.ts';
import { Captures } from '../captures/captures.ts';
import { UnsealError } from '../crypto/seal.ts';
import type { Fill } from '../idempotency/transaction.ts';
import { MINUTE } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { Failure } from '../kernel/failure.ts';
import type { Pan } from '../kernel/pan.ts';
import { commitOrThrow, write } from '../storage/database.ts';
import { Vault } from '../vault/vault.ts';
import { type CardDataContext, Placeholders } from './placeholders.ts';

const PAN = '4111111111111111' as Pan;
const ORIGIN = { actor: { type: 'key', id: 'key_1', name: 'test' }, address: '203.0.113.1', requestId: 'r-1' } as const;
const NO_UUID = '00000000-0000-4000-8000-000000000000';

interface Card {
  readonly pan: Pan;
  readonly name: string | undefined;
  readonly expiry: { month: string; year: string } | undefined;
}
const CARD: Card = { pan: PAN, name: 'Ana "Lu" Lopez', expiry: { month: '09', year: '31' } };

interface Audited {
  readonly action: string;
  readonly outcome: string;
  readonly targets?: readonly string[];
  readonly detail?: unknown;
  readonly actor: unknown;
}

async function failure(promise: Promise<unknown>): Promise<Failure> {
  try {
    await promise;
  } catch (error) {
    assert.ok(error instanceof Failure, String(error));
    return error;
  }
  return assert.fail('nothing was thrown');
}

describe('resolving placeholders', () => {
  let service: TestService;
  let vault: Vault;
  let captures: Captures;
  let placeholders: Placeholders;
  let tenant: Tenant;

  before(async () => {
    service = await startTestService();
    vault = new Vault(service.core);
    captures = new Captures({ ...service.core, vault });
    placeholders = new Placeholders({ vault, captures });
    tenant = await newTenant();
  });
  after(() => service.stop());

  const run = <Result>(fill: Fill<Result>): Promise<Result> => inTransaction(service.core, fill, ORIGIN);
  const newTenant = async (): Promise<Tenant> => ({ account: await service.newAccount(), environment: 'sandbox' });

  async function newToken(card: Card = CARD, owner = tenant): Promise<string> {
    const format = { scheme: 7, bin: 6 } as const;
    const request = { cards: [card], tags: [], format, persistent: false, creator: { id: 'key_1', name: 'test' } };
    const [result] = await run((transaction) => vault.tokenize(transaction, owner, request));
    return result?.token?.token ?? assert.fail('no token');
  }

  const newCapture = (card: Partial<Card> = CARD, cvv: string | null = '123', owner = tenant): Promise<string> => {
    const { pan, name, expiry } = card;
    const sad = { cvv: cvv ?? undefined, track2: undefined };
    const data = { pan, name, expiry, sad, amount: 1, currency: 'USD' };
    const capture = { ...data, additionalInfo: {}, ttlMinutes: 60 };
    return run((transaction) => captures.create(transaction, owner, capture));
  };

  const BOTH: readonly Permission[] = ['tokens:detokenize', 'captures:retrieve'];
  const readerOf = (permissions: readonly Permission[] = BOTH, of = tenant): CardDataContext => {
    return { tenant: of, permissions, usage: 'jose' };
  };
  async function resolve(text: string, reader = readerOf()): Promise<string[]> {
    const marks = locatePlaceholders(text, '/x');
    const filled = await run((transaction) => placeholders.resolve(transaction, reader, marks));
    assert.deepEqual(
      filled.map(({ located: mark }) => mark),
      marks,
    );
    return filled.map(({ value }) => value);
  }

  /** The new records of the audit log, oldest first. */
  async function audited(act: () => Promise<unknown>): Promise<Audited[]> {
    const sql = 'select record from journal where account = ?account order by sequence';
    const read = () => service.core.database.read(sql, tenant.account);
    const old = (await read()).length;
    await act();
    return (await read()).slice(old).map(({ record }) => JSON.parse(String(record)) as Audited);
  }

  it('returns each part of a token', async () => {
    const token = await newToken();
    const parts = ['card', 'name', 'token', 'expiration', 'expiration|date:YYYY-MM'];
    const text = parts.map((part) => `{{${token}:detokenize|extract:${part}}}`).join('');
    assert.deepEqual(await resolve(`{{${token}:detokenize}}${text}`), [
      PAN,
      PAN,
      'Ana "Lu" Lopez',
      token,
      '09/31',
      '2031-09',
    ]);
  });

  it('returns each part of a capture', async () => {
    const id = await newCapture();
    const parts = ['card', 'name', 'token', 'expiration', 'expiration|date:MM', 'cvv'];
    const text = parts.map((part) => `{{${id}:transaction|extract:${part}}}`).join('');
    assert.deepEqual(await resolve(text), [PAN, 'Ana "Lu" Lopez', id, '09/31', '09', '123']);
  });

  it('resolves a payload without placeholders without an audit record', async () => {
    assert.deepEqual(await audited(async () => assert.deepEqual(await resolve('', readerOf([])), [])), []);
  });

  it('reads equal tokens once, with one audit record, and keeps the order of values', async () => {
    const [token, other, id] = [await newToken(), await newToken({ ...CARD, name: 'Eva' }), await newCapture()];
    const text = [token, other, token].map((each) => `{{${each}:detokenize|extract:name}}`).join('');
    const captured = `{{${id}:transaction}}{{${id}:transaction|extract:cvv|encrypt}}`;
    const records = await audited(async () => {
      const values = await resolve(text + captured + text);
      const names = ['Ana "Lu" Lopez', 'Eva', 'Ana "Lu" Lopez'];
      assert.deepEqual(values, [...names, PAN, '123', ...names]);
    });
    assert.deepEqual(records.map(({ action, targets }) => `${action} ${targets}`).sort(), [
      `capture.retrieved capture:${id}`,
      ...[token, other].map((each) => `token.detokenized token:${each}`).sort(),
    ]);
    for (const { outcome, detail, actor, ...rest } of records) {
      assert.deepEqual([outcome, detail, actor], ['success', { use: 'jose' }, ORIGIN.actor]);
      assert.ok(!JSON.stringify(rest).includes(PAN));
    }
  });

  it('treats the same id as a token and as a capture as two records', async () => {
    const id = await newCapture();
    const { code } = await failure(resolve(`{{${id}:transaction}}{{${id}:detokenize}}`));
    assert.equal(code, 'unknown_token');
  });

  it('unseals the security code of a capture only when it is requested', async () => {
    const id = await newCapture();
    // The record cannot be unsealed, which is detected only when it is read.
    const spoil = write('update captures set sad = ? where id = ?', [new Uint8Array(40), id], 1);
    await commitOrThrow(service.core.database, { writes: [spoil] });
    assert.deepEqual(await resolve(`{{${id}:transaction}}`), [PAN]);
    await assert.rejects(resolve(`{{${id}:transaction}}{{${id}:transaction|extract:cvv}}`), UnsealError);
  });

  it('requires the permission of each source that occurs, and no others', async () => {
    const [token, id] = [await newToken(), await newCapture()];
    assert.equal((await resolve(`{{${token}:detokenize}}`, readerOf(['tokens:detokenize']))).length, 1);
    assert.equal((await resolve(`{{${id}:transaction}}`, readerOf(['captures:retrieve']))).length, 1);
    for (const permissions of [[], ['proxy:use', 'tokens:inspect', 'captures:inspect']] as const) {
      assert.equal((await failure(resolve(`{{${token}:detokenize}}`, readerOf(permissions)))).code, 'access_denied');
    }
  });

  it('reads nothing without a permission, and writes one audit record that names it', async () => {
    const [token, id] = [await newToken(), await newCapture()];
    const text = `{{${token}:detokenize}}{{${id}:transaction}}{{${id}:transaction}}`;
    const denied = async (permissions: readonly Permission[], missing: readonly Permission[]) => {
      const records = await audited(async () => {
        const { code, field, message } = await failure(resolve(text, readerOf(permissions)));
        assert.deepEqual([code, field, message], ['access_denied', undefined, 'Access denied.']);
      });
      const detail = { permissions: missing, use: 'jose' };
      assert.deepEqual(
        records.map(({ action, outcome, detail }) => ({ action, outcome, detail })),
        [{ action: 'access.denied', outcome: 'permission_missing', detail }],
      );
    };
    await denied(['tokens:detokenize'], ['captures:retrieve']);
    await denied(['captures:retrieve'], ['tokens:detokenize']);
    await denied([], ['tokens:detokenize', 'captures:retrieve']);
  });

  it('finds no token or capture of another tenant, and no expired one', async () => {
    const other = await newTenant();
    const [token, id] = [await newToken(CARD, other), await newCapture(CARD, '123', other)];
    assert.deepEqual(await resolve(`{{${token}:detokenize}}`, readerOf(BOTH, other)), [PAN]);
    assert.equal((await failure(resolve(`{{${token}:detokenize}}`))).code, 'unknown_token');
    assert.equal((await failure(resolve(`{{${id}:transaction}}`))).code, 'unknown_capture');
    const production: Tenant = { ...other, environment: 'production' };
    assert.equal((await failure(resolve(`{{${token}:detokenize}}`, readerOf(BOTH, production)))).code, 'unknown_token');
    const ended = await newCapture();
    service.advance(60 * MINUTE);
    assert.equal((await failure(resolve(`{{${ended}:transaction}}`))).code, 'unknown_capture');
  });

  it('reports the first unknown record in the order of the payload, with its number', async () => {
    const token = await newToken();
    const text = `{{${token}:detokenize}}{{${NO_UUID}:transaction}}{{unknown:detokenize}}{{${NO_UUID}:transaction}}`;
    const first = await failure(resolve(text));
    assert.deepEqual([first.code, first.field], ['unknown_capture', '/x']);
    assert.equal(first.message, '/x: placeholder 2: no such capture, or its ttl has ended');
    const second = await failure(resolve(`{{${PAN}:detokenize}}{{${NO_UUID}:transaction}}`));
    assert.equal(second.code, 'unknown_token');
    assert.equal(second.message, '/x: placeholder 1: no such token');
  });

  it('audits a read of an unknown record, without the text of the client', async () => {
    const records = await audited(() => failure(resolve(`{{${PAN}:detokenize}}{{${PAN}:transaction}}`)));
    assert.deepEqual(records.map(({ action, outcome, targets }) => [action, outcome, targets]).sort(), [
      ['capture.retrieved', 'missing', []],
      ['token.detokenized', 'missing', []],
    ]);
    assert.ok(!JSON.stringify(records).includes(PAN));
  });

  it('reports the part that a record lacks', async () => {
    const bare = await newCapture({}, null);
    const token = await newToken({ pan: PAN, name: undefined, expiry: undefined });
    for (const [text, what] of [
      [`{{${bare}:transaction}}`, 'card number'],
      [`{{${bare}:transaction|extract:name}}`, 'name'],
      [`{{${bare}:transaction|extract:expiration|date:YY}}`, 'expiry'],
      [`{{${bare}:transaction|extract:cvv}}`, 'security code'],
      [`{{${token}:detokenize|extract:name}}`, 'name'],
      [`{{${token}:detokenize|extract:expiration}}`, 'expiry'],
    ] as const) {
      const { code, field, message } = await failure(resolve(`{{${token}:detokenize}}${text}`));
      assert.deepEqual([code, field], ['invalid_placeholder', '/x']);
      assert.equal(message, `/x: placeholder 2: the record has no ${what}`);
    }
  });

  it('reports the first error of any kind in the order of the payload', async () => {
    const token = await newToken({ pan: PAN, name: undefined, expiry: undefined });
    const [lacking, unknown] = [`{{${token}:detokenize|extract:name}}`, '{{unknown:detokenize}}'];
    assert.equal((await failure(resolve(unknown + lacking))).message, '/x: placeholder 1: no such token');
    assert.equal((await failure(resolve(lacking + unknown))).message, '/x: placeholder 1: the record has no name');
  });

  it('does not hide errors that the client did not cause', async () => {
    const broken = Object.assign(new Vault({ ...service.core }), {
      detokenize: () => Promise.reject(new Error('broken')),
    });
    const own = new Placeholders({ vault: broken, captures });
    await assert.rejects(
      run((transaction) => own.resolve(transaction, readerOf(), locatePlaceholders('{{a:detokenize}}', '/x'))),
      /^Error: broken$/,
    );
  });
});
