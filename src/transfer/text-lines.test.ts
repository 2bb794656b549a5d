import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decodeLine, readLines } from './text-lines.ts';

async function* piecesOf(text: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < text.length; at += size) yield text.subarray(at, at + size);
}

async function linesOf(text: string | Buffer, size: number, max = 100): Promise<(string | undefined)[]> {
  const lines: (string | undefined)[] = [];
  let expected = 1;
  for await (const group of readLines(piecesOf(Buffer.from(text), size), max))
    for (const { number, bytes } of group) {
      assert.equal(number, expected++);
      lines.push(bytes && decodeLine({ number, bytes }));
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

  test('beyond the limit are skipped, and the next one is read', async () => {
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

  test('that are not UTF-8 have no text', () => {
    assert.equal(decodeLine({ number: 2, bytes: Buffer.from([0xff, 0x41]) }), undefined);
  });
});
