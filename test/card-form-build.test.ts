import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import * as vite from 'vite';
import { buildScript, bundle, nameOf } from '../scripts/build-card-form.ts';

const FOLDER = join(import.meta.dirname, '..', 'card-form');
const RELEASED = join(FOLDER, 'released');
const MAX_DOCUMENT_BYTES = 60_000;
/** Every script that pages of merchants may be pinned to. A name may be added and never removed. */
const NAMES = [
  'cardvault-7qI-k1iguf_aIqCM.js',
  'cardvault-bZXKl4X-0A0qXtn5.js',
  'cardvault-69d9VZ45_perxtZm.js',
  'cardvault-KFzabuPhQTnlEdM4.js',
].sort();

describe('the files of the card form', () => {
  test('released scripts stay, with the content that their names and the integrity of pages are made of', () => {
    const scripts = readdirSync(RELEASED).filter((name) => name !== 'present.json');
    assert.deepEqual(scripts.sort(), NAMES);
    for (const name of scripts) assert.equal(nameOf(readFileSync(join(RELEASED, name), 'utf8')), name);
  });

  test('the present script is what its source builds', async () => {
    const { script } = JSON.parse(readFileSync(join(RELEASED, 'present.json'), 'utf8'));
    assert.equal(nameOf(await buildScript(vite)), script);
  });

  test('no package becomes a part of them', () =>
    assert.rejects(bundle(vite, '../node_modules/ipaddr.js/lib/ipaddr.js'), /must contain no package/));

  test('the document of the form stays small', () => {
    const document = readFileSync(join(FOLDER, 'dist', 'form.html'));
    assert.ok(gzipSync(document).length < MAX_DOCUMENT_BYTES, String(gzipSync(document).length));
    // Limits of the service that no browser needs.
    assert.ok(!document.includes('signInFailures'));
  });
});
