import assert from 'node:assert/strict';
import { globSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { isPostgres } from '../fixtures/database.ts';
import { newDirectory, removeDirectory, runCommand, startProcess } from '../fixtures/service-process.ts';
import { order } from '../interface/payment-requests.ts';

/**
 * Counts what traces cost where they are not configured. A duration would vary with the machine, so the engine counts what
 * ran: NODE_V8_COVERAGE makes each thread of the service write how often every block of every loaded file was executed.
 */
const SOURCES = join(import.meta.dirname, '..', '..', 'src');
const REQUESTS = 40;
const PAYMENTS = 5;

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

/** The blocks of each loaded file, by its URL. */
type Coverage = ReadonlyMap<string, readonly Range[]>;

/** Returns how often the innermost block around the offset was executed, in all threads. */
const countAt = (coverages: readonly Coverage[], url: string, offset: number): number =>
  coverages
    .map((coverage) => {
      const around = (coverage.get(url) ?? []).filter((each) => each.startOffset <= offset && offset < each.endOffset);
      const innermost = around.sort(
        (one, other) => one.endOffset - one.startOffset - (other.endOffset - other.startOffset),
      );
      return innermost[0]?.count ?? 0;
    })
    .reduce((sum, count) => sum + count, 0);

/** A call of the observer of traces, and the comparison that decides about it. */
const CALL = /\b(?:traces\.(?:within|end)|steps\.observe)\(/g;
const COMPARISON = /(?:traces|steps) [!=]== undefined/g;

describe('a service without traces', { skip: isPostgres && 'what runs does not depend on the database' }, () => {
  const coverages: Coverage[] = [];

  before(async () => {
    const directory = newDirectory();
    const folder = join(directory, 'coverage');
    mkdirSync(folder);
    const service = await startProcess(directory, { NODE_V8_COVERAGE: folder, CARDVAULT_WORKERS: '1' });
    try {
      const key = service.demoKey ?? '';
      const body = { chd: [{ card: '4111111111111111', name: 'Ana Lopez', exp: '12/29' }], tags: [], scheme: 1 };
      for (let index = 0; index < REQUESTS; index++)
        assert.equal((await service.call('POST', '/v1/tokenization/simple', { key, body })).status, 200);
      const { id } = (await service.call('GET', '/v1/account', { key })).json.data;
      const enabled = await runCommand(directory, ['payments', 'enable', '--account', id, '--environment', 'sandbox']);
      assert.equal(enabled.code, 0, enabled.err);
      for (let index = 0; index < PAYMENTS; index++) {
        const { status, text } = await service.call('POST', '/v1/payments', { key, body: order() });
        assert.ok(status === 200 || status === 201, text);
      }
      assert.equal(await service.stop(), 0);
      for (const name of readdirSync(folder)) coverages.push(readCoverage(join(folder, name)));
    } finally {
      service.child.kill('SIGKILL');
      removeDirectory(directory);
    }
  });

  test('loads neither the file of traces nor a library of them', () => {
    const urls = coverages.flatMap((coverage) => [...coverage.keys()]);
    assert.ok(urls.some((url) => url.endsWith('/src/http/exchange.ts')));
    assert.deepEqual(
      urls.filter((url) => /\/src\/http\/trace(s|parent)\.ts$|opentelemetry/.test(url)),
      [],
    );
  });

  test('executes a comparison where a trace could begin, and never what follows it', () => {
    const found: Record<string, readonly [comparison: number, call: number]> = {};
    for (const path of globSync('**/*.ts', { cwd: SOURCES }).filter((each) => !/\.test\.ts$|traces\.ts$/.test(each))) {
      const text = readFileSync(join(SOURCES, path), 'utf8');
      const calls = [...text.matchAll(CALL)];
      if (calls.length === 0) continue;
      const url = pathToFileURL(join(SOURCES, path)).href;
      const count = (matches: readonly RegExpExecArray[]) =>
        matches.map(({ index }) => countAt(coverages, url, index)).reduce((sum, each) => sum + each, 0);
      found[path] = [count([...text.matchAll(COMPARISON)]), count(calls)];
    }
    assert.deepEqual(Object.keys(found).sort(), [
      'http/exchange.ts',
      'http/send.ts',
      'http/server.ts',
      'idempotency/transaction.ts',
      'payments/timed-processor.ts',
    ]);
    for (const [path, [comparison, call]] of Object.entries(found)) {
      assert.equal(call, 0, path);
      assert.ok(comparison > 0, path);
    }
    // One comparison for each request with an API key: the tokenizations, the payments, and one for the account.
    for (const path of ['http/exchange.ts', 'http/send.ts'])
      assert.equal(found[path]?.[0], REQUESTS + PAYMENTS + 1, path);
    assert.equal(found['payments/timed-processor.ts']?.[0], PAYMENTS);
  });
});

function readCoverage(file: string): Coverage {
  const { result } = JSON.parse(readFileSync(file, 'utf8')) as {
    result: readonly { url: string; functions: readonly { ranges: readonly Range[] }[] }[];
  };
  return new Map(result.map(({ url, functions }) => [url, functions.flatMap(({ ranges }) => ranges)]));
}
