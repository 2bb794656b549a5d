import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { buildBrunoCollection } from './bruno-collection.ts';
import { buildDocument } from './client-types.ts';

/** Writes the collection for Bruno from the OpenAPI document: `npm run generate:collection`. A test finds a difference. */
const FOLDER = join(import.meta.dirname, '..', 'examples', 'bruno', 'cardvault');

rmSync(FOLDER, { recursive: true, force: true });
for (const [path, text] of buildBrunoCollection(buildDocument())) {
  const file = join(FOLDER, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
