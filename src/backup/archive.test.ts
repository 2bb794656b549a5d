import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { BackupError, openArchive, packArchive } from './archive.ts';
import { formatManifest, type Manifest, parseManifest } from './manifest.ts';

const MANIFEST: Omit<Manifest, 'database'> = {
  id: 'bkp_1',
  createdAt: 1_700_000_000_000,
  cardvault: '0.1.0',
  source: 'sqlite',
  rootKey: '01234567',
  vault: 'ab',
  schema: 1,
  rows: { tokens: 2 },
  log: { chains: 1, records: 3, sha256: 'cd' },
  keys: [],
};

describe('the archive of a backup', () => {
  let directory: string;
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'cardvault-archive-'));
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  const pack = async (size: number): Promise<{ archive: Buffer; database: Buffer; manifest: Manifest }> => {
    const file = join(directory, 'source.db');
    const database = Buffer.alloc(size, 'database ');
    writeFileSync(file, database);
    const sha256 = createHash('sha256').update(database).digest('hex');
    const manifest = { ...MANIFEST, database: { bytes: size, sha256 } };
    const pieces: Uint8Array[] = [];
    for await (const piece of packArchive(manifest, file)) pieces.push(piece);
    return { archive: Buffer.concat(pieces), database, manifest };
  };
  const inPieces = async function* (archive: Buffer, size: number): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < archive.length; at += size) yield archive.subarray(at, at + size);
  };
  const unpack = async (archive: Buffer, size = 1000): Promise<{ manifest: Manifest; database: Buffer }> => {
    const { manifest, database } = await openArchive('file', inPieces(archive, size));
    const pieces: Uint8Array[] = [];
    for await (const piece of database()) pieces.push(piece);
    return { manifest, database: Buffer.concat(pieces) };
  };

  for (const size of [0, 511, 512, 513, 100_000])
    test(`${size} bytes are unpacked as they were packed, in pieces of any size`, async () => {
      const { archive, ...packed } = await pack(size);
      assert.equal(archive.length % 512, 0);
      for (const piece of [1000, 65_536, archive.length]) assert.deepEqual(await unpack(archive, piece), packed);
    });

  test('is unpacked by tar', async () => {
    const { archive, database, manifest } = await pack(1300);
    const folder = mkdtempSync(join(directory, 'tar-'));
    const { status, stderr } = spawnSync('tar', ['-x', '-C', folder], { input: archive, encoding: 'utf8' });
    assert.deepEqual([status, stderr], [0, '']);
    assert.deepEqual(readFileSync(join(folder, 'cardvault.db')), database);
    assert.deepEqual(parseManifest(readFileSync(join(folder, 'manifest.json'), 'utf8')), manifest);
  });

  test('of another format is rejected', async () => {
    const { archive } = await pack(600);
    const other = (change: (copy: Buffer) => Buffer): Buffer => change(Buffer.from(archive));
    const rename = (copy: Buffer): Buffer => {
      copy.write('x', 0);
      return copy;
    };
    const nextFormat = (copy: Buffer): Buffer => {
      copy.write('2', copy.indexOf('cardvault backup 1') + 'cardvault backup '.length);
      return copy;
    };
    for (const changed of [other(rename), other(nextFormat), Buffer.from('no archive'), Buffer.alloc(2048)])
      await assert.rejects(unpack(changed), /is no backup of this format: it was created by another version/);
  });

  test('that ends early is truncated', async () => {
    const { archive, database } = await pack(5000);
    const start = archive.indexOf(database.subarray(0, 100));
    await assert.rejects(unpack(archive.subarray(0, start + 100)), (error: Error) => {
      assert.ok(error instanceof BackupError);
      return /file is truncated: its database is incomplete/.test(error.message);
    });
  });

  test('has a manifest that is read only in its own format', () => {
    const manifest = { ...MANIFEST, database: { bytes: 1, sha256: 'ef' } };
    assert.deepEqual(parseManifest(formatManifest(manifest).toString()), manifest);
    assert.equal(parseManifest('{}'), undefined);
    assert.equal(parseManifest('null'), undefined);
    assert.equal(parseManifest('no JSON'), undefined);
  });
});
