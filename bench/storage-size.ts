import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Pan } from '../src/kernel/pan.ts';
import { startTestService } from '../test/fixtures/test-service.ts';
import { TOKENIZE } from '../test/interface/vault-requests.ts';
import { randomPan } from './requests.ts';

/** Measures what a card costs in an SQLite database: bytes, rows and index entries. Run: node bin/cardvault.mjs --run bench/storage-size.ts */
const CARDS = 20_000;
const CARDS_PER_REQUEST = 100;

interface Variant {
  readonly name: string;
  readonly scheme: number;
  readonly tags: readonly string[];
}

const VARIANTS: readonly Variant[] = [
  { name: 'scheme 7, no tag', scheme: 7, tags: [] },
  { name: 'scheme 7, 1 tag', scheme: 7, tags: ['web'] },
  { name: 'scheme 1, no tag', scheme: 1, tags: [] },
];

/** Returns the bytes of each table and index that a token writes to. */
function listSizes(file: string): Map<string, number> {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const rows = database
      .prepare(
        "select name, sum(pgsize) as bytes from dbstat where name like 'token%' or name like '%token%' group by name",
      )
      .all();
    return new Map(rows.map((row) => [String(row['name']), Number(row['bytes'])]));
  } finally {
    database.close();
  }
}

async function measure({ name, scheme, tags }: Variant): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'cardvault-size-'));
  const service = await startTestService({ directory });
  try {
    const { secret: key } = await service.newKey(await service.newAccount());
    for (let made = 0; made < CARDS; made += CARDS_PER_REQUEST) {
      const chd = Array.from({ length: CARDS_PER_REQUEST }, () => ({
        card: randomPan() as Pan,
        exp: '12/30',
        name: 'Ana Lopez',
      }));
      const { status, text } = await service.call('POST', TOKENIZE, { key, body: { chd, tags, scheme } });
      if (status !== 200) throw new Error(text);
    }
    await service.core.database.scrub();
    const sizes = listSizes(join(directory, 'cardvault.db'));
    const total = [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
    const parts = [...sizes].map(([table, bytes]) => `${table} ${Math.round(bytes / CARDS)}`).join(', ');
    process.stdout.write(`${name}: ${Math.round(total / CARDS)} bytes a card (${parts})\n`);
  } finally {
    await service.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

for (const variant of VARIANTS) await measure(variant);
