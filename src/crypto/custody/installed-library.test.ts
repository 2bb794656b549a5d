import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { loadInstalledLibrary } from './installed-library.ts';

describe('a library beside cardvault', () => {
  let above: string;
  let folder: string;
  before(() => {
    above = mkdtempSync(join(tmpdir(), 'cardvault-libraries-'));
    folder = join(above, 'libraries');
    mkdirSync(folder);
  });
  after(() => rmSync(above, { recursive: true, force: true }));

  const install = (at: string, name: string, value: string): void => {
    const path = join(at, 'node_modules', name);
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, 'index.js'), `exports.value = ${JSON.stringify(value)};`);
  };

  test('is not loaded from a folder above the one that is named', async () => {
    install(above, 'library-of-others', 'of others');
    await assert.rejects(
      loadInstalledLibrary('library-of-others', folder),
      /is not installed; run in .*libraries: npm install/,
    );
  });

  test('is loaded from the folder that is named, also by a link to it', async () => {
    install(folder, 'own-library', 'own');
    assert.equal((await loadInstalledLibrary('own-library', folder))['value'], 'own');
    const link = join(above, 'link');
    symlinkSync(folder, link);
    assert.equal((await loadInstalledLibrary('own-library', link))['value'], 'own');
  });

  test('is looked for beside cardvault when no folder is named', async () => {
    await assert.rejects(
      loadInstalledLibrary('own-library', undefined),
      /is not installed; run in the folder of cardvault/,
    );
  });
});
