import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { OperatorError } from '../kernel/operator-error.ts';
import { createIfAbsent, replaceAtomically } from './secret-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'cardvault-secret-'));
after(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
const newPath = (): string => join(folder, String(files++), 'secret');
const modeOf = (path: string): number => statSync(path).mode & 0o777;

describe('createIfAbsent', () => {
  it('creates file and folder for their user only, and keeps an existing file', () => {
    const path = newPath();
    createIfAbsent(path, 'first');
    createIfAbsent(path, 'second');
    assert.equal(readFileSync(path, 'utf8'), 'first');
    assert.equal(modeOf(path), 0o600);
    assert.equal(modeOf(join(path, '..')), 0o700);
    assert.deepEqual(readdirSync(join(path, '..')), ['secret']);
  });
});

describe('replace', () => {
  it('replaces the existing content, with the requested mode', () => {
    const path = newPath();
    replaceAtomically(path, 'first', 0o644);
    assert.equal(modeOf(path), 0o644);
    replaceAtomically(path, 'second');
    assert.equal(readFileSync(path, 'utf8'), 'second');
    assert.equal(modeOf(path), 0o600);
    assert.deepEqual(readdirSync(join(path, '..')), ['secret']);
  });
});

describe('a folder that cannot be written', () => {
  for (const [name, put] of Object.entries({ createIfAbsent, replaceAtomically })) {
    it(`is reported to the operator by ${name}, without the content`, () => {
      const file = join(folder, `${name}-is-a-file`);
      writeFileSync(file, '');
      const path = join(file, 'secret');
      assert.throws(
        () => put(path, 'content'),
        (error: Error) => {
          assert.ok(error instanceof OperatorError);
          assert.ok(error.message.startsWith(`${path} cannot be written (`), error.message);
          assert.ok(!error.message.includes('content'));
          return true;
        },
      );
    });
  }
});
