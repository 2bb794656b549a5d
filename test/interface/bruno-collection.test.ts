import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { buildBrunoCollection } from '../../scripts/bruno-collection.ts';
import { buildDocument } from '../../scripts/client-types.ts';

const FOLDER = join(import.meta.dirname, '..', '..', 'examples', 'bruno', 'cardvault');

describe('the collection for Bruno', () => {
  test('is the one of the interface', () => {
    const stored = globSync('**/*.{bru,json}', { cwd: FOLDER }).map((path) => [
      path,
      readFileSync(join(FOLDER, path), 'utf8'),
    ]);
    const built = buildBrunoCollection(buildDocument());
    assert.deepEqual(
      new Map(stored.sort() as [string, string][]),
      new Map([...built].sort()),
      'run: npm run generate:collection',
    );
  });

  test('has every operation, and no key', () => {
    const files = [...buildBrunoCollection(buildDocument())];
    const operations = Object.values(buildDocument().paths).flatMap((methods) => Object.values(methods));
    for (const { operationId } of operations)
      assert.ok(
        files.some(([path]) => path.endsWith(`/${operationId}.bru`)),
        operationId,
      );
    for (const [path, text] of files) assert.doesNotMatch(text, /cv_(sandbox|production)_/, path);
  });
});
