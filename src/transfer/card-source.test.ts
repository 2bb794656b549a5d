import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { findFault } from './card-check.ts';
import { CARD_FIELDS } from './card-record.ts';
import { type CardLine, CardSource } from './card-source.ts';
import { TransferError } from './transfer-error.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const DEFAULTS = { scheme: 7, isPersistent: false, bin: 6, creator: { id: 'i', name: 'import' }, now: NOW } as const;

async function* bytesOf(text: string | Buffer): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}

async function readAll(text: string | Buffer, size = 3): Promise<{ source: CardSource; lines: CardLine[] }> {
  const source = await CardSource.open(bytesOf(text), { defaults: DEFAULTS });
  const lines: CardLine[] = [];
  for await (const batch of source.batches(size)) {
    assert.ok(batch.lines.length <= size);
    lines.push(...batch.lines);
  }
  return { source, lines };
}

const faultsOf = (lines: readonly CardLine[]) =>
  lines.map((line) => {
    const fault = findFault(line);
    return fault === undefined ? [line.number, ''] : [line.number, `${fault.field} ${fault.code}`];
  });

describe('CSV', () => {
  test('gives cards with the fields of its columns, and the line of each', async () => {
    const text =
      'name,pan,tags,exp,scheme,type,bin\n"Lopez,\nAna",4111 1111 1111 1111,a|b,01/30,8,persistent,8\n\r\n,5555555555554444,,,,,';
    const { source, lines } = await readAll(text);
    assert.equal(source.format, 'csv');
    const [first, second] = lines;
    assert.deepEqual([first?.number, second?.number], [2, 5]);
    assert.ok(second !== undefined && 'card' in second.parsed);
    assert.deepEqual(second.parsed.card, {
      card: { pan: '5555555555554444', name: undefined, expiry: undefined },
      ...{ tags: [], format: { scheme: 7, bin: 6 }, isPersistent: false, wanted: undefined },
      ...{ creator: DEFAULTS.creator, createdAt: undefined },
    });
    // A name contains no line feed.
    assert.deepEqual(faultsOf(lines), [
      [2, 'name malformed'],
      [5, ''],
    ]);
  });

  test('has a fault for every line that breaks a rule', async () => {
    const { lines } = await readAll(
      [
        'pan,exp,scheme,type,bin,token,created_at',
        '4111111111111111,12/30,7,single,6,,2025-12-31T00:00:00Z',
        ',12/30,7,,,,',
        '4111111111111112,,,,,,',
        '41111111111,,,,,,',
        '4111111111111111,13/30,,,,,',
        '4111111111111111,12/1999,,,,,',
        '4111111111111111,,2,,,,',
        '4111111111111111,,7,,8,,',
        '4111111111111111,,1,once,,,',
        '4111111111111111,,1,,,4111111111111111,',
        '4111111111111111,,1,,,4111110900001111,',
        '4111111111111111,,7,,,NOT-A-TOKEN,',
        '4111111111111111,,,,,,2026-01-02T00:00:00Z',
        '4111111111111111,12/30',
        '4111111111111111,"12/30,,,,,',
      ].join('\n'),
    );
    assert.deepEqual(
      faultsOf(lines).map(([, fault]) => fault),
      [
        '',
        'pan required',
        'pan card_luhn',
        'pan malformed',
        'exp malformed',
        'exp malformed',
        'scheme malformed',
        'bin malformed',
        'type malformed',
        'token token_form',
        'token token_form',
        'token token_form',
        'created_at malformed',
        'line not_csv',
        'line not_csv',
      ],
    );
  });

  test('with another first line is refused, and the message has nothing of it', async () => {
    for (const text of ['4111111111111111,12/30\n', 'pan,pan\n', 'exp,name\n', 'pan,"x\n', ''])
      await assert.rejects(readAll(text), (error: Error) => {
        assert.ok(error instanceof TransferError);
        assert.doesNotMatch(error.message, /4111/);
        return true;
      });
  });
});

describe('JSON Lines', () => {
  test('give cards, and faults for other lines', async () => {
    const { source, lines } = await readAll(
      [
        '{"pan":"4111111111111111","tags":["a"],"scheme":1,"created_by":{"user_id":"k","name":"n"}}',
        '{"pan":4111111111111111}',
        '[]',
        '{"pan":"4111111111111111","cvv":"123"}',
        '{"pan":"4111111111111111","tags":"a"}',
        '',
        '{"pan":"4111111111111111","__proto__":1}',
        '{"pan":"4111111111111111","name":"\\ud800"}',
      ].join('\n'),
    );
    assert.equal(source.format, 'jsonl');
    assert.deepEqual(faultsOf(lines), [
      [1, ''],
      [2, 'pan malformed'],
      [3, 'line not_json'],
      [4, 'line unknown_field'],
      [5, 'tags malformed'],
      [7, 'line unknown_field'],
      [8, 'name malformed'],
    ]);
  });
});

describe('any text', () => {
  const value = fc.oneof(fc.string(), fc.integer(), fc.constant(null), fc.constant('4111111111111111'));
  const object = fc.dictionary(fc.oneof(fc.constantFrom(...CARD_FIELDS), fc.string()), value);
  const line = fc.oneof(
    object.map((each) => JSON.stringify(each)),
    fc.string(),
    fc.constant('{"pan":"4111111111111111"}'),
  );

  test('as lines behind a card gives one result for each line that is not blank', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(line), async (texts) => {
        const others = texts.map((text) => text.replaceAll('\n', ' '));
        const { lines } = await readAll(`{"pan":"4111111111111111"}\n${others.join('\n')}`);
        const blank = others.filter((text) => text.trim() === '').length;
        assert.equal(lines.length, 1 + others.length - blank);
        for (const [, fault] of faultsOf(lines)) assert.match(String(fault), /^([a-z_]+ [a-z0-9_]+)?$/);
      }),
    );
  });

  test('as a whole is read, or refused as a file', async () => {
    const bytes = fc.oneof(
      fc.string().map((text) => Buffer.from(text)),
      fc.uint8Array().map((each) => Buffer.from(each)),
    );
    await fc.assert(
      fc.asyncProperty(bytes, async (each) => {
        await readAll(each).catch((error: unknown) => assert.ok(error instanceof TransferError));
      }),
    );
  });
});

describe('an export', () => {
  const header = JSON.stringify({ kind: 'header', format: 'cardvault-account', version: 1 });
  const token = JSON.stringify({ kind: 'token', token: '4111110000001112', scheme: 1, pan: '4111111111111111' });
  const audit = JSON.stringify({ kind: 'audit', entry: {} });
  const trailerOf = (lines: readonly string[], counts = {}): string => {
    const all = { token: 1, capture: 0, payment: 0, audit: 1, unreadable: 0, ...counts };
    const sha256 = hash('sha256', lines.map((each) => `${each}\n`).join(''));
    return JSON.stringify({ kind: 'trailer', counts: all, sha256 });
  };
  const content = [header, token, audit];

  test('gives its tokens when it is complete', async () => {
    const { source, lines } = await readAll([...content, trailerOf(content)].join('\n'));
    assert.deepEqual([source.format, lines.length, source.counts?.audit], ['export', 1, 1]);
  });

  test('is refused when a line is missing, changed or added', async () => {
    const altered = token.replace('0000', '1000');
    for (const lines of [
      content,
      [header, token, trailerOf(content)],
      [header, altered, audit, trailerOf(content)],
      [...content, audit, trailerOf(content)],
      [...content, trailerOf(content, { token: 2 })],
      [...content, trailerOf(content), audit],
      [header, token, 'text', trailerOf(content)],
      [header.replace('"version":1', '"version":2'), ...content.slice(1), trailerOf(content)],
    ])
      await assert.rejects(readAll(lines.join('\n')), TransferError);
  });
});
