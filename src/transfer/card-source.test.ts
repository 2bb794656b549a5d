import assert from 'node:assert/strict';
import { createSecretKey, hash } from 'node:crypto';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { LIMITS } from '../kernel/limits.ts';
import { findFault } from './card-check.ts';
import { CARD_FIELDS } from './card-record.ts';
import { type CardBatch, type CardLine, CardSource } from './card-source.ts';
import { TransferError } from './transfer-error.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const DEFAULTS = { scheme: 7, isPersistent: false, bin: 6, creator: { id: 'i', name: 'import' }, now: NOW } as const;

async function* bytesOf(text: string | Buffer, pieceBytes: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}

async function readAll(
  text: string | Buffer,
  size = 3,
  pieceBytes = 64 * 1024,
): Promise<{ source: CardSource; lines: CardLine[] }> {
  const source = await CardSource.open(bytesOf(text, pieceBytes), { defaults: DEFAULTS });
  const lines: CardLine[] = [];
  for await (const batch of source.batches(size)) {
    assert.ok(batch.lines.length <= size);
    lines.push(...batch.lines);
  }
  return { source, lines };
}

const VISA = '4111111111111111';

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
    const second = lines.at(-1);
    assert.ok(second !== undefined && 'card' in second.parsed);
    assert.deepEqual(second.parsed.card, {
      card: { pan: '5555555555554444', name: undefined, expiry: undefined },
      ...{ tags: [], format: { scheme: 7, bin: 6 }, isPersistent: false, wanted: undefined },
      ...{ creator: DEFAULTS.creator, createdAt: undefined },
    });
    // A name contains no line feed.
    assert.deepEqual(faultsOf(lines), [
      [2, 'name malformed'],
      [3, 'line not_csv'],
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

  test('with a quote in a plain field has one faulty line', async () => {
    const text = `pan,name\n${VISA},O"Brien\n${VISA},Ana\n${VISA},"Ben"\n${VISA},Eva"\n${VISA},Ida\n`;
    assert.deepEqual(faultsOf((await readAll(text)).lines), [
      [2, 'line not_csv'],
      [3, ''],
      [4, ''],
      [5, 'line not_csv'],
      [6, ''],
    ]);
  });

  test('with a quoted field that never ends has one faulty line, and every other line is read', async () => {
    const plain = Array.from({ length: 2000 }, () => `${VISA},Ana`);
    for (const [last, faults] of [
      ['', []],
      [`${VISA},"Ana Lopez"`, ['']],
      [`${VISA},Ana"Maria`, ['line not_csv']],
      [`${VISA},x,"Ana"`, ['line not_csv']],
      [`${VISA},"Ana`, ['line not_csv']],
      [`${VISA},"Ana\nMaria"`, ['name malformed', 'line not_csv']],
    ] as const) {
      const { lines } = await readAll(`pan,name\n${VISA},"Ana\n${plain.join('\n')}\n${last}`, 500, 1000);
      const expected = ['line not_csv', ...plain.map(() => ''), ...faults];
      assert.deepEqual(
        faultsOf(lines),
        expected.map((fault, index) => [index + 2, fault]),
        last,
      );
    }
  });

  test('with two stray quotes that make a record of several lines has a fault in each, and no card', async () => {
    const inner = `${VISA},Old card`;
    for (const [record, faults] of [
      [`${VISA},"note\n${inner}\nend",x`, ['line not_csv', 'line not_csv', 'line not_csv']],
      [`${VISA},"Ana\n${inner}\n\n${VISA},Ben"`, ['name malformed', 'line not_csv', '', 'line not_csv']],
    ] as const) {
      const expected = faults.flatMap((fault, index) => (fault === '' ? [] : [[index + 2, fault]]));
      const { lines } = await readAll(`pan,name\n${record}\n${VISA},Ida\n`);
      assert.deepEqual(faultsOf(lines), [...expected, [faults.length + 2, '']]);
    }
  });

  test('with a quoted field beyond the limit has one faulty line, and the others are read', async () => {
    const plain = Array.from({ length: 40_000 }, () => `${VISA},Ana`);
    assert.ok(plain.join('\n').length > 2 * LIMITS.importLineBytes);
    const { lines } = await readAll(`pan,name\n${VISA},"Ana\n\n${plain.join('\n')}\n`, 500);
    assert.deepEqual(faultsOf(lines.slice(0, 1)), [[2, 'line too_long']]);
    assert.ok(lines.slice(1).every(({ number, parsed }, index) => 'card' in parsed && number === index + 4));
    assert.equal(lines.length, 1 + plain.length);
  });

  test('with lines that each open a quoted field is read in a time that grows with the lines', async () => {
    const count = 100_000;
    for (const line of ['"x', ',"', '"""x', '"",",', '"']) {
      const { lines } = await readAll(`pan,exp,name\n${Array(count).fill(line).join('\n')}`, 500);
      assert.ok(lines.length >= count / 2, `${line} ${lines.length}`);
      assert.ok(faultsOf(lines).every(([, fault]) => fault !== ''));
    }
  });

  test('has every line in its results: in those of its own, or within a well-formed record', async () => {
    const piece = fc.constantFrom(VISA, 'Ana', '"', '""', ',', ',"', '",', 'a|b');
    const line = fc.array(piece, { minLength: 1 }).map((pieces) => pieces.join(''));
    await fc.assert(
      fc.asyncProperty(fc.array(line), fc.integer({ min: 1, max: 50 }), async (texts, pieceBytes) => {
        const { lines } = await readAll(`pan,tags\n${texts.join('\n')}`, 3, pieceBytes);
        let next = 2;
        for (const [index, { number, parsed }] of lines.entries()) {
          assert.equal(number, next);
          next = lines[index + 1]?.number ?? texts.length + 2;
          assert.ok(next > number);
          if (!('card' in parsed)) assert.equal(next, number + 1);
        }
        assert.equal(next, texts.length + 2);
      }),
    );
  });

  test('keeps a text of several lines in quotes', async () => {
    const text = `pan,tags\r\n${VISA},"a\r\n\r\n""b"", c|d"\r\n${VISA},e`;
    for (const pieceBytes of [1, 7, 1000]) {
      const { lines } = await readAll(text, 3, pieceBytes);
      const tags = lines.map(({ number, parsed }) => [number, 'card' in parsed && parsed.card.tags]);
      assert.deepEqual(tags, [
        [2, ['a\n\n"b", c', 'd']],
        [5, ['e']],
      ]);
    }
  });

  test('has the same batches and digests however the bytes arrive', async () => {
    const names = ['"Ana', 'Ben', 'Ida', '"Eva"', '"Zoe', 'Max'];
    const text = `pan,name\n${names.map((name) => `${VISA},${name}`).join('\n')}`;
    const batchesOf = async (pieceBytes: number): Promise<CardBatch[]> => {
      const digestKey = createSecretKey(Buffer.alloc(32));
      const source = await CardSource.open(bytesOf(text, pieceBytes), { defaults: DEFAULTS, digestKey });
      return Array.fromAsync(source.batches(2));
    };
    const expected = await batchesOf(1000);
    assert.deepEqual(
      expected.map(({ lines }) => lines.map(({ number }) => number)),
      [
        [2, 3],
        [4, 5],
        [6, 7],
      ],
    );
    for (const pieceBytes of [1, 3, 20]) assert.deepEqual(await batchesOf(pieceBytes), expected);
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

describe('a line of another file', () => {
  const long = 'x'.repeat(LIMITS.importLineBytes + 1);

  test('has one fault when it is too long, and the next one is read', async () => {
    for (const pieceBytes of [1000, 64 * 1024, 2 ** 20]) {
      const json = await readAll(`{"pan":"4111111111111111"}\n${long}\n{"pan":"4111111111111111"}`, 3, pieceBytes);
      const csv = await readAll(`pan,name\n4111111111111111,"a\n${long}\n4111111111111111,Ana`, 3, pieceBytes);
      assert.deepEqual(faultsOf(json.lines), [
        [1, ''],
        [2, 'line too_long'],
        [3, ''],
      ]);
      assert.deepEqual(faultsOf(csv.lines), [
        [2, 'line not_csv'],
        [3, 'line too_long'],
        [4, ''],
      ]);
    }
    await assert.rejects(readAll(`{"pan":"${long}"}`), TransferError);
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

  test('gives its tokens when payments and audit records are longer than a line of another file', async () => {
    const long = 'x'.repeat(LIMITS.importLineBytes);
    const lines = [
      header,
      JSON.stringify({ kind: 'payment', operations: [long, long] }),
      JSON.stringify({ kind: 'audit', entry: long }),
      token,
    ];
    const text = [...lines, trailerOf(lines, { payment: 1 })].join('\n');
    for (const size of [1000, 64 * 1024, text.length]) {
      const { source, lines: cards } = await readAll(text, 3, size);
      assert.deepEqual([cards.length, source.counts?.payment, source.counts?.audit], [1, 1, 1]);
      assert.equal(cards[0]?.number, 4);
    }
    for (const altered of [text.replace('xx"', 'xy"'), text.replace('xx"', 'x\n"'), text.replace('payment"', 'pay"')])
      await assert.rejects(readAll(altered, 3, 1000), TransferError);
  });

  test('is refused when a token or its trailer is longer than a line may be', async () => {
    const blanks = ' '.repeat(LIMITS.importLineBytes);
    const long = token.replace('}', `${blanks}}`);
    await assert.rejects(
      readAll([header, long, audit, trailerOf([header, long, audit])].join('\n')),
      /line 2: .*damaged/,
    );
    const trailer = trailerOf(content).replace('}', `${blanks}}`);
    await assert.rejects(readAll([...content, trailer].join('\n')), /line 4: .*damaged/);
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
