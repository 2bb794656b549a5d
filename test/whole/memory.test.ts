import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { newDirectory, removeDirectory, type ServiceProcess, startProcess } from '../fixtures/service-process.ts';
import { luhnPan } from '../fixtures/test-service.ts';
import { isLong } from '../scope.ts';

/** A core of the process, taken after load and idle time, is searched: docs/threat-model.md states what was found. */
const CARDS = 1000;
const CAPTURES = 200;
const SUBMISSIONS = 100;
const IDLE_MS = 90_000;
const BIN = '411111';
const PAN_DIGITS = 16;
const CHUNK_BYTES = 64 * 1024 * 1024;
/** The largest share of card numbers that threat-model.md states for a core after idle time. */
const STATED_SHARE = 0.25;

const absent = spawnSync('gcore', ['--help']).status === null && 'gcore is not installed';

describe('a core of the process', {
  skip: absent || (!isLong && 'only in npm run test:long'),
  timeout: 600_000,
}, () => {
  let directory: string;
  let cores: string;
  let service: ServiceProcess;
  const pans = new Set<string>();

  before(async () => {
    directory = newDirectory();
    cores = mkdtempSync(join(tmpdir(), 'cardvault-core-'));
    service = await startProcess(directory, { CARDVAULT_WORKERS: '1', CARDVAULT_RATE_LIMIT_CAPTURE: '0' });
  });
  after(async () => {
    await service.stop();
    removeDirectory(directory);
    rmSync(cores, { recursive: true, force: true });
  });

  const newPan = (): string => {
    const pan = luhnPan(BIN, PAN_DIGITS);
    pans.add(pan);
    return pan;
  };

  async function load(): Promise<void> {
    const key = service.demoKey ?? '';
    for (let index = 0; index < CARDS / 10; index++) {
      const chd = Array.from({ length: 10 }, () => ({ card: newPan(), name: 'Ana Lopez', exp: '12/29' }));
      const body = { chd, tags: ['subscription-web'], scheme: 1 };
      assert.equal((await service.call('POST', '/v1/tokenization/simple', { key, body })).status, 200);
    }
    for (let index = 0; index < CAPTURES; index++) {
      const body = { chd: { card: newPan(), cvv: '737' }, amount: 1, currency: 'USD', additional_info: {}, ttl: 60 };
      const headers = { 'idempotency-key': `memory-${index}` };
      const created = await service.call('POST', '/transactions/requests', { key, body, headers });
      assert.equal((await service.call('GET', `/transactions/requests/${created.json.data.id}`, { key })).status, 200);
    }
    await submit(key);
  }

  /** Half of the submissions are refused, and then none of the card is stored. */
  async function submit(key: string): Promise<void> {
    const session = { allowed_origins: ['https://shop.example.com'], amount: 1, currency: 'USD', ttl: 60 };
    for (let index = 0; index < SUBMISSIONS; index++) {
      const isRefused = index % 2 === 0;
      const { id, client_secret: secret } = (await service.call('POST', '/v1/capture-sessions', { key, body: session }))
        .json.data;
      const response = await service.call('POST', `/v1/card/${id}`, {
        listener: 'cards',
        body: {
          number: newPan(),
          exp: isRefused ? '01/20' : '12/40',
          name: 'Ana Lopez',
          cvv: '737',
          attempt: randomUUID(),
        },
        headers: { origin: `https://localhost:${service.ports.cards}`, authorization: `Bearer ${secret}` },
      });
      assert.equal(response.status, isRefused ? 400 : 200, response.text);
    }
  }

  /** Returns the card numbers in a core, in memory of either width, with the number of their places. */
  function searchCore(): { found: Set<string>; places: number } {
    assert.equal(spawnSync('gcore', ['-o', join(cores, 'core'), String(service.child.pid)]).status, 0);
    const [name = ''] = readdirSync(cores);
    const found = new Set<string>();
    let places = 0;
    for (const bytes of readChunks(join(cores, name)))
      for (const encoding of ['latin1', 'utf16le'] as const) {
        const start = Buffer.from(BIN, encoding);
        const size = encoding === 'latin1' ? PAN_DIGITS : 2 * PAN_DIGITS;
        for (let at = bytes.indexOf(start); at >= 0; at = bytes.indexOf(start, at + 1)) {
          const pan = bytes.toString(encoding, at, at + size);
          if (!pans.has(pan)) continue;
          found.add(pan);
          places++;
        }
      }
    rmSync(join(cores, name));
    return { found, places };
  }

  test('after load and idle time contains at most the stated share of card numbers', async (context) => {
    await load();
    const during = searchCore();
    // The search finds card numbers where they must be.
    assert.ok(during.found.size > 0);
    await pause(IDLE_MS);
    const { found, places } = searchCore();
    const share = found.size / pans.size;
    context.diagnostic(
      `of ${pans.size} card numbers a core had ${during.found.size} in ${during.places} places after the load, ` +
        `and ${found.size} in ${places} places ${IDLE_MS / 1000} seconds later (${Math.round(share * 100)} %)`,
    );
    assert.ok(share <= STATED_SHARE, `${share}`);
    assert.ok(
      readFileSync(join(import.meta.dirname, '../../docs/threat-model.md'), 'utf8').includes(
        '## What memory still holds',
      ),
    );
  });
});

/** Reads a file in pieces that overlap, so that no card number is cut in two. */
function* readChunks(path: string): Generator<Buffer> {
  const file = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(CHUNK_BYTES);
    for (let position = 0; ; position += CHUNK_BYTES - 2 * PAN_DIGITS) {
      const length = readSync(file, buffer, 0, CHUNK_BYTES, position);
      yield buffer.subarray(0, length);
      if (length < CHUNK_BYTES) return;
    }
  } finally {
    closeSync(file);
  }
}
