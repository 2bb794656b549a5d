import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { describe, test } from 'node:test';
import { LIMITS } from '../kernel/limits.ts';
import type { Pan } from '../kernel/pan.ts';
import type { Token } from '../vault/token.ts';
import { CardSource } from './card-source.ts';
import {
  EXPORT_FORMAT,
  EXPORT_VERSION,
  type ExportHeader,
  formatAuditLine,
  formatCaptureLine,
  formatPaymentLine,
  formatTokenLine,
  formatUnreadableLine,
  kindOfLine,
  newExportCounts,
} from './export-format.ts';

/** No other character takes more bytes in JSON. */
const WIDEST = '\ud800';
const PAN = '4'.repeat(19) as Pan;
/** A post-quantum recipient has fewer characters. */
const RECIPIENT = 'r'.repeat(2000);

const TOKEN: Token = {
  token: '8d5ef154-6026-4e7e-b037-96a3136da4f0',
  scheme: 7,
  card: { pan: PAN, name: WIDEST.repeat(LIMITS.nameCharacters), expiry: { month: '12', year: '30' } },
  tags: Array.from({ length: LIMITS.tags }, () => WIDEST.repeat(LIMITS.tagCharacters)),
  createdBy: { id: WIDEST.repeat(LIMITS.apiKeyNameCharacters), name: WIDEST.repeat(LIMITS.apiKeyNameCharacters) },
  createdAt: 0,
};

const HEADER: ExportHeader = {
  kind: 'header',
  ...{ format: EXPORT_FORMAT, version: EXPORT_VERSION, software: '1.0.0', vault: 'f'.repeat(64) },
  account: { id: 'acct_0123456789', name: WIDEST.repeat(LIMITS.accountNameCharacters) },
  ...{ environment: 'production', created_at: '2026-01-01T00:00:00.000Z' },
  recipients: Array.from({ length: LIMITS.ageRecipients }, () => RECIPIENT),
  expected: { token: Number.MAX_SAFE_INTEGER, capture: 0, payment: 0 },
  issuable_half_key: 'A'.repeat(44),
};

async function* bytesOf(text: string): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += 64 * 1024) yield bytes.subarray(at, at + 64 * 1024);
}

describe('lines of an export', () => {
  test('begin with their kind', () => {
    const state = { status: 'Collected', reason: undefined, authorized: 1n, collected: 1n, refunded: 0n } as const;
    const payment = { ...state, id: 'a', type: 'payment', currency: 'USD', amount: 1n, card: { truncated: '' } };
    const lines = [
      ['token', formatTokenLine(TOKEN, '7/6')],
      ['capture', formatCaptureLine({ id: 'a', pan: PAN, createdAt: 0, expiresAt: 0 } as never)],
      ['payment', formatPaymentLine({ payment: { ...payment, createdAt: 0 }, operations: [] } as never)],
      ['audit', formatAuditLine('{}')],
      ['unreadable', formatUnreadableLine('token', 'a')],
      ['header', JSON.stringify(HEADER)],
    ] as const;
    for (const [kind, line] of lines) {
      assert.equal(kindOfLine(Buffer.from(line)), kind);
      assert.equal(JSON.parse(line).kind, kind);
    }
  });

  test('that an import has to read are within its limit, however long their values are', async () => {
    const token = formatTokenLine(TOKEN, '7/6');
    const content = `${JSON.stringify(HEADER)}\n${token}\n`;
    const counts = { ...newExportCounts(), token: 1 };
    const trailer = JSON.stringify({ kind: 'trailer', counts, sha256: hash('sha256', content) });
    assert.ok(token.length > 80_000);
    const creator = { id: 'import:0', name: 'import' };
    const defaults = { scheme: 1, isPersistent: false, bin: 6, creator, now: 1 } as const;
    const source = await CardSource.open(bytesOf(content + trailer), { defaults });
    const batches = await Array.fromAsync(source.batches(1));
    const parsed = batches[0]?.lines[0]?.parsed;
    assert.ok(parsed !== undefined && 'card' in parsed);
    const { card, tags, creator: createdBy, createdAt, wanted } = parsed.card;
    assert.deepEqual({ token: wanted, scheme: parsed.card.format.scheme, card, tags, createdBy, createdAt }, TOKEN);
  });
});
