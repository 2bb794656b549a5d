import assert from 'node:assert/strict';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { finished } from 'node:stream/promises';
import { describe, it } from 'node:test';
import { Failure } from '../kernel/failure.ts';
import { readBody } from './request-body.ts';

const LIMIT = 10;

interface Outcome {
  readonly error: unknown;
  readonly body: string;
}

/** A request whose body is written by the test, and the calls back so far. */
function open(method: string, headers: IncomingHttpHeaders): { stream: PassThrough; outcomes: Outcome[] } {
  const stream = new PassThrough();
  const outcomes: Outcome[] = [];
  const request = Object.assign(stream, { method, headers }) as unknown as IncomingMessage;
  readBody(request, LIMIT, (error, body) => outcomes.push({ error, body: body.toString('latin1') }));
  return { stream, outcomes };
}

const isTooLarge = ({ error }: Outcome): boolean => error instanceof Failure && error.code === 'body_too_large';

/** Writes one piece after the other, each once the one before was read. */
async function write(stream: PassThrough, ...pieces: string[]): Promise<void> {
  for (const piece of pieces) await new Promise((resolve) => stream.write(piece, resolve));
}

describe('reading a body', () => {
  it('concatenates its chunks, up to the limit', async () => {
    const { stream, outcomes } = open('POST', { 'content-length': '10' });
    await write(stream, 'abc', 'defghi', 'j');
    assert.deepEqual(outcomes, []);
    stream.end();
    await finished(stream);
    assert.deepEqual(outcomes, [{ error: undefined, body: 'abcdefghij' }]);
  });

  it('that has arrived as a whole is read at once, up to the limit', () => {
    const read = (body: string): Outcome => {
      const outcomes: Outcome[] = [];
      const stream = new PassThrough();
      stream.end(body);
      const arrived = { method: 'POST', headers: { 'transfer-encoding': 'chunked' }, complete: true };
      readBody(Object.assign(stream, arrived) as unknown as IncomingMessage, LIMIT, (error, bytes) =>
        outcomes.push({ error, body: bytes.toString('latin1') }),
      );
      assert.equal(outcomes.length, 1);
      return outcomes[0] as Outcome;
    };
    assert.deepEqual(read('abcdefghij'), { error: undefined, body: 'abcdefghij' });
    assert.deepEqual(read(''), { error: undefined, body: '' });
    assert.ok(isTooLarge(read('abcdefghijk')));
  });

  it('completes immediately without a body', () => {
    for (const headers of [{}, { 'content-length': '0' }])
      assert.deepEqual(open('POST', headers).outcomes, [{ error: undefined, body: '' }]);
  });

  it('does not read the body of a GET', () => {
    const { stream, outcomes } = open('GET', { 'content-length': '3' });
    assert.deepEqual(outcomes, [{ error: undefined, body: '' }]);
    assert.equal(stream.listenerCount('data'), 0);
  });

  it('rejects a body whose declared length is too large before it arrives', () => {
    const { stream, outcomes } = open('POST', { 'content-length': '11' });
    assert.deepEqual(outcomes.map(isTooLarge), [true]);
    assert.equal(stream.listenerCount('data'), 0);
  });

  it('rejects a body of unknown length once it is too large, and ignores the rest', async () => {
    const { stream, outcomes } = open('POST', { 'transfer-encoding': 'chunked' });
    await write(stream, '0123456789', 'x');
    assert.deepEqual(outcomes.map(isTooLarge), [true]);
    await write(stream, 'y');
    stream.end();
    await finished(stream);
    assert.equal(outcomes.length, 1);
  });

  it('passes the error of a connection that is lost', async () => {
    const { stream, outcomes } = open('POST', { 'content-length': '5' });
    await write(stream, 'ab');
    const lost = Object.assign(new Error('aborted'), { code: 'ECONNRESET' });
    stream.destroy(lost);
    await finished(stream).catch(() => undefined);
    assert.deepEqual(
      outcomes.map(({ error }) => error),
      [lost],
    );
  });

  it('does not call back twice when the connection is lost after the body', async () => {
    const { stream, outcomes } = open('POST', { 'content-length': '2' });
    stream.end('ab');
    await finished(stream);
    stream.emit('error', new Error('aborted'));
    assert.deepEqual(outcomes, [{ error: undefined, body: 'ab' }]);
  });
});
