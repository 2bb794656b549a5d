import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readMigrations } from '../../src/storage/migrate.ts';
import { PACE, runChaos } from '../chaos/chaos.ts';
import type { Fault, Hit } from '../chaos/faults.ts';
import type { Node } from '../chaos/node.ts';
import type { Testbed } from '../chaos/testbed.ts';
import { whyNoPostgres } from '../fixtures/postgres-binaries.ts';
import { onlyLong } from '../scope.ts';
import { addMigrations, COMPATIBLE, copyProgram } from './next-version.ts';
import { listReleases, readReleasedMigrations, unpackProgram, whyNotFinal } from './releases.ts';

/**
 * Two nodes of a released version over PostgreSQL are replaced one by one under load, and then go back one by one: old and new
 * serve beside each other, no acknowledged record is lost or duplicated, and the node that stays writes while the other
 * one is replaced.
 */
const EXPANDS = `${COMPATIBLE}alter table tokens add column region text;
create index tokens_by_region on tokens (account, environment, region);
`;

/** A node that answers `/readyz` with 200 writes within this time, on a machine that does much else as well. */
const WRITES_WITHIN_MS = 10_000;

/** Returns the newest schema that a release knows. */
const schemaOf = (release: string): number =>
  Math.max(...readReleasedMigrations(release).map(({ version }) => version));

const oldestBeside = (schema: number): number =>
  Math.max(0, ...readMigrations().flatMap(({ version, minCompatible }) => (version > schema ? [minCompatible] : [])));

async function replace(node: Node, bin: string | undefined, how: 'stop' | 'kill'): Promise<Hit> {
  const began = Date.now();
  if (how === 'stop') assert.equal(await node.stop(), 0);
  else await node.kill();
  node.bin = bin;
  await node.start();
  return { began, ended: Date.now(), whom: `node ${node.number}` };
}

const step = (name: string, number: number, bin: string, how: 'stop' | 'kill' = 'stop'): Fault => ({
  name,
  about: name,
  run: ({ nodes }: Testbed) => replace(nodes[number - 1] as Node, bin, how),
});

for (const release of listReleases()) {
  const schema = schemaOf(release);
  const isCompatible = oldestBeside(schema) <= schema;
  test(`nodes of ${release} are upgraded and downgraded one by one under load`, {
    skip:
      onlyLong ||
      whyNotFinal(release) ||
      whyNoPostgres() ||
      (!isCompatible && `this version does not work beside ${release}`),
    timeout: 600_000,
  }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'cardvault-upgrade-'));
    const lines: string[] = [];
    const seed = Number(process.env['CARDVAULT_TEST_SEED'] ?? Date.now() % 2 ** 31);
    try {
      const old = unpackProgram(release, join(folder, 'old'));
      const next = copyProgram(join(folder, 'next'));
      addMigrations(next, EXPANDS);
      const faults = [
        step('first node upgraded', 1, next.bin),
        step('second node upgraded', 2, next.bin),
        step('first node back', 1, old.bin),
        step('second node back after a crash', 2, old.bin, 'kill'),
        step('second node upgraded again', 2, next.bin),
      ];
      const { findings, injected, testbed } = await runChaos({
        database: 'postgres',
        diskMegabytes: undefined,
        seed,
        workers: 1,
        bin: old.bin,
        faults,
        only: [],
        lasts: 0,
        enough: 6,
        clients: 8,
        pace: PACE.quick,
        captureEnds: false,
        log: (line) => void lines.push(line),
      });
      if (process.env['SHOW_FIGURES'] !== undefined) process.stderr.write(`${lines.join('\n')}\n`);
      assert.deepEqual(findings, [], `seed ${seed} (set CARDVAULT_TEST_SEED to repeat it)\n${lines.join('\n')}`);
      assert.equal(injected.length, faults.length);
      const attempts = testbed.ledger.requests.flatMap((request) => request.attempts);
      for (const { fault, began, ended, whom, recoveries } of injected) {
        assert.ok(
          attempts.some(({ sentAt, endedAt }) => sentAt <= ended && endedAt >= began),
          `${fault.name} met no request`,
        );
        for (const [index, { longest, sinceEnded = Number.POSITIVE_INFINITY }] of recoveries.entries()) {
          const node = `node ${index + 1}`;
          if (node === whom) assert.ok(sinceEnded < WRITES_WITHIN_MS, `${fault.name}: ${node} after ${sinceEnded} ms`);
          else assert.ok(longest < ended - began, `${fault.name}: ${node} without a write for ${longest} ms`);
        }
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}
