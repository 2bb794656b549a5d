import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { beginsLine, decodeLine, endsLine, readLines } from './text-lines.ts';

async function* piecesOf(text: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < text.length; at += size) yield text.subarray(at, at + size);
}

/** Lines beyond the limit are undefined. */
async function linesOf(text: string | Buffer, size: number, max = 100): Promise<(string | undefined)[]> {
  const lines: (string | undefined)[] = [];
  for await (const group of readLines(piecesOf(Buffer.from(text), size), max))
    for (const line of group) {
      if (beginsLine(line)) lines.push(line.part === 'whole' ? decodeLine(line) : undefined);
      assert.equal(line.number, lines.length);
    }
  return lines;
}

describe('lines of a text', () => {
  test('are the same however the bytes arrive', async () => {
    for (const size of [1, 2, 3, 7, 100]) {
      assert.deepEqual(await linesOf('\ufeffab\r\n\nñ\ncd', size), ['ab', '', 'ñ', 'cd']);
      assert.deepEqual(await linesOf('ab\n', size), ['ab']);
      assert.deepEqual(await linesOf('', size), []);
    }
  });

  test('beyond the limit are no whole lines, and the next one is read', async () => {
    for (const size of [1, 4, 50]) {
      assert.deepEqual(await linesOf(`${'x'.repeat(20)}\nab\n${'y'.repeat(10)}\nend`, size, 10), [
        undefined,
        'ab',
        'y'.repeat(10),
        'end',
      ]);
      assert.deepEqual(await linesOf('x'.repeat(11), size, 10), [undefined]);
    }
  });

  test('beyond the limit arrive in parts that are no longer than limit and piece, and have all bytes', async () => {
    const text = `${'x'.repeat(1000)}\nab\n${'y'.repeat(11)}\n${'z'.repeat(35)}`;
    for (const size of [1, 4, 10, 11, 5000]) {
      let whole = '';
      let isOpen = false;
      for await (const group of readLines(piecesOf(Buffer.from(text), size), 10))
        for (const line of group) {
          assert.equal(beginsLine(line), !isOpen);
          assert.ok(line.bytes.length <= 10 + size, `${line.bytes.length}`);
          whole += line.bytes.toString() + (endsLine(line) ? '\n' : '');
          isOpen = !endsLine(line);
        }
      assert.equal(whole, `${text}\n`);
      assert.ok(!isOpen);
    }
  });

  test('that are not UTF-8 have no text', () => {
    assert.equal(decodeLine({ number: 2, bytes: Buffer.from([0xff, 0x41]) }), undefined);
  });
});
