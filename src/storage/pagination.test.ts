import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ScanQueue } from './pagination.ts';

describe('a scan queue', () => {
  it('runs scans one after another, each in a separate iteration of the event loop', async () => {
    const queue = new ScanQueue();
    const seen: string[] = [];
    let loops = 0;
    let isOver = false;
    const count = (): void => {
      seen.push(`loop ${++loops}`);
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    await Promise.all(
      ['a', 'b', 'c', 'd'].map(async (name) => {
        await queue.next();
        seen.push(name);
      }),
    );
    isOver = true;
    assert.deepEqual(seen.slice(0, 8), ['loop 1', 'a', 'loop 2', 'b', 'loop 3', 'c', 'loop 4', 'd']);
  });

  it('yields before the first scan, also without others', async () => {
    const queue = new ScanQueue();
    for (let round = 0; round < 3; round++) {
      const seen: string[] = [];
      const other = nextTurn().then(() => seen.push('other work'));
      await queue.next();
      seen.push('turn');
      await other;
      assert.deepEqual(seen, ['other work', 'turn']);
    }
  });

  it('does not delay the scans of another queue', async () => {
    const [one, other] = [new ScanQueue(), new ScanQueue()];
    const seen: string[] = [];
    const scan = (queue: ScanQueue, name: string) => queue.next().then(() => seen.push(name));
    await Promise.all([scan(one, 'a'), scan(one, 'b'), scan(one, 'c'), scan(other, 'x')]);
    assert.deepEqual(seen, ['a', 'x', 'b', 'c']);
  });
});
