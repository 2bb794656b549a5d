import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';

/** The tables of docs/evidence must state only what the sources contain. */

const ROOT = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

interface Requirement {
  readonly id: string;
  readonly level?: number;
  readonly summary: string;
  readonly status: string;
  readonly evidence?: readonly string[];
  readonly note?: string;
}

interface EvidenceTable {
  readonly path: string;
  readonly requirements: readonly Requirement[];
}

const STATUSES = ['met', 'operator', 'not-applicable', 'open'];
const TEXT = /^[^\s|][^\n|]*$/;

/**
 * The number of requirements of each section of ASVS 5.0.0; within a section they are numbered from 1. The standard has 345
 * requirements.
 */
const ASVS_SECTIONS: Readonly<Record<string, readonly number[]>> = {
  V1: [2, 10, 12, 3, 3],
  V2: [3, 3, 5, 2],
  V3: [1, 3, 5, 8, 8, 1, 5],
  V4: [5, 5, 2, 4],
  V5: [1, 6, 3, 3],
  V6: [3, 12, 8, 6, 8, 4, 2, 4],
  V7: [3, 4, 2, 5, 3, 2],
  V8: [4, 4, 3, 2],
  V9: [3, 4],
  V10: [2, 3, 5, 16, 5, 2, 3],
  V11: [4, 5, 5, 4, 2, 2, 2],
  V12: [5, 2, 5],
  V13: [4, 6, 4, 7],
  V14: [2, 8, 3],
  V15: [5, 5, 7, 4],
  V16: [1, 5, 4, 3, 4],
  V17: [2, 8, 2],
};
const ASVS_REQUIREMENTS = 345;

const asvs = parseTable('docs/evidence/asvs-5.0.json');
const pci = parseTable('docs/evidence/pci-dss-4.0.1.json');

function parseTable(path: string): EvidenceTable {
  return { path, requirements: (JSON.parse(read(path)) as EvidenceTable).requirements };
}

/** Returns why an entry of `evidence` is wrong; undefined when its file contains its text. */
function findFault(pointer: string): string | undefined {
  const at = pointer.indexOf('#');
  const [path, text] = [pointer.slice(0, at), pointer.slice(at + 1)];
  if (at < 1 || text.length < 3) return 'expected FILE#TEXT';
  if (!existsSync(join(ROOT, path))) return 'the file does not exist';
  // Titles of tests stand in their sources with escaped quotes.
  const content = read(path);
  return content.includes(text) || content.replaceAll("\\'", "'").includes(text)
    ? undefined
    : 'the text is not in the file';
}

function findFaults({ id, summary, status, evidence = [], note }: Requirement): string[] {
  const faults = evidence.flatMap((pointer) => {
    const fault = findFault(pointer);
    return fault === undefined ? [] : [`${id}: ${pointer}: ${fault}`];
  });
  if (!STATUSES.includes(status)) faults.push(`${id}: the status is unknown`);
  if (!TEXT.test(summary)) faults.push(`${id}: the summary is malformed`);
  if (note !== undefined && !TEXT.test(note)) faults.push(`${id}: the note is malformed`);
  if (status === 'met' && evidence.length === 0) faults.push(`${id}: met without evidence`);
  if (status === 'operator' && evidence.length === 0 && note === undefined)
    faults.push(`${id}: neither evidence nor a note`);
  if (status === 'open' || status === 'not-applicable')
    if (note === undefined) faults.push(`${id}: the note is missing`);
  return faults;
}

const count = ({ requirements }: EvidenceTable, status: string): number =>
  requirements.filter((each) => each.status === status).length;

describe('the tables of evidence', () => {
  for (const table of [asvs, pci]) {
    test(`${table.path} has valid entries, whose files contain what they name`, () => {
      assert.ok(table.requirements.length > 100);
      assert.deepEqual(table.requirements.flatMap(findFaults), []);
    });

    test(`${table.path} has each requirement once, and its totals are in the README`, () => {
      const ids = table.requirements.map(({ id }) => id);
      assert.deepEqual(
        ids.filter((id, index) => ids.indexOf(id) !== index),
        [],
      );
      const totals = STATUSES.map((status) => count(table, status)).join(' | ');
      const row = `| \`${table.path.split('/').at(-1)}\` | ${totals} |`;
      assert.ok(read('docs/evidence/README.md').includes(`\n${row}\n`), `docs/evidence/README.md has to hold: ${row}`);
    });
  }

  test('asvs-5.0.json has every requirement of the standard, with its level', () => {
    const expected = Object.entries(ASVS_SECTIONS).flatMap(([chapter, counts]) =>
      counts.flatMap((length, section) =>
        Array.from({ length }, (_, index) => `${chapter}.${section + 1}.${index + 1}`),
      ),
    );
    assert.equal(expected.length, ASVS_REQUIREMENTS);
    assert.deepEqual(
      asvs.requirements.map(({ id }) => id),
      expected,
    );
    for (const { id, level } of asvs.requirements) assert.ok(level === 1 || level === 2 || level === 3, id);
  });

  test('pci-dss-4.0.1.json has requirement numbers, in order', () => {
    const numbers = pci.requirements.map(({ id }) => id.split('.').map(Number));
    for (const parts of numbers) assert.ok(parts.length >= 3 && parts.every(Number.isInteger), parts.join('.'));
    const compare = (one: readonly number[], other: readonly number[]): number =>
      one.map((part, index) => part - (other[index] ?? -1)).find((difference) => difference !== 0) ?? -1;
    assert.deepEqual(numbers, [...numbers].sort(compare));
  });

  test('a wrong entry is found', () => {
    const good: Requirement = { id: '1', summary: 'A', status: 'met', evidence: ['LICENSE#Apache'] };
    assert.deepEqual(findFaults(good), []);
    for (const [change, fault] of [
      [{ evidence: [] }, /met without evidence/],
      [{ evidence: ['LICENSE'] }, /expected FILE#TEXT/],
      [{ evidence: ['LICENCE#Apache'] }, /does not exist/],
      [{ evidence: ['LICENSE#cardvault is perfect'] }, /not in the file/],
      [{ status: 'done' }, /status/],
      [{ status: 'open' }, /note is missing/],
      [{ summary: '' }, /summary/],
    ] as const)
      assert.match(findFaults({ ...good, ...change }).join('\n'), fault);
  });
});

describe('the cryptographic inventory', () => {
  const path = 'docs/evidence/cryptographic-inventory.md';
  const inventory = read(path);
  const section = (heading: string): string => inventory.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const firstCells = (text: string): string[] =>
    [...text.matchAll(/^\| `([^`]+)` \|/gm)].map(([, cell = '']) => cell).sort();

  test('has every purpose of a key, once', () => {
    const [, union = ''] = /export type Purpose =([^;]*);/.exec(read('src/crypto/wrapped-key.ts')) ?? [];
    const purposes = [...union.matchAll(/'([a-z-]+)'/g)].map(([, purpose = '']) => purpose).sort();
    assert.ok(purposes.length > 10);
    assert.deepEqual(firstCells(section('Keys')), purposes);
  });

  test('has every source that uses cryptography', () => {
    const packages = [
      ...(section('Sources').split('Cryptography is imported from ')[1] ?? '').matchAll(/`([^`]+)`/g),
    ].map(([, name = '']) => name);
    assert.ok(packages.includes('node:crypto') && packages.length > 5);
    const using = globSync(['src/**/*.ts', 'console/*/*.ts', 'console/server/**/*.ts'], { cwd: ROOT })
      .filter((source) => !source.endsWith('.test.ts') && importsValues(read(source), packages))
      .sort();
    assert.ok(using.length > 20);
    const listed = firstCells(section('Sources'));
    const covers = (entry: string, source: string): boolean =>
      entry.endsWith('/') ? source.startsWith(entry) : source === entry;
    assert.deepEqual(
      using.filter((source) => !listed.some((entry) => covers(entry, source))),
      [],
      'sources that are missing in the table',
    );
    assert.deepEqual(
      listed.filter((entry) => !using.some((source) => covers(entry, source))),
      [],
      'rows without a source',
    );
  });

  test('does not count imports of types', () => {
    assert.equal(importsValues("import type { KeyObject } from 'node:crypto';\n", ['node:crypto']), false);
    assert.equal(importsValues("import { type KeyObject } from 'node:crypto';\n", ['node:crypto']), false);
    assert.equal(importsValues("import { hash, type KeyObject } from 'node:crypto';\n", ['node:crypto']), true);
    assert.equal(importsValues("import {\n  type A,\n  b,\n} from 'otpauth';\n", ['otpauth']), true);
    assert.equal(importsValues("const x = () => import('otpauth');\n", ['otpauth']), true);
  });
});

function importsValues(text: string, packages: readonly string[]): boolean {
  const clauses = [...text.matchAll(/^import (type )?([^;]*?) from '([^']+)';$/gm)];
  const isValue = ([, type, clause = '', from = '']: RegExpMatchArray): boolean =>
    packages.includes(from) &&
    type === undefined &&
    clause
      .replace(/[{}\s]/g, ' ')
      .split(',')
      .some((name) => name.trim() !== '' && !name.trim().startsWith('type '));
  const lazy = [...text.matchAll(/\b(?:import|require)\('([^']+)'\)/g)];
  return clauses.some(isValue) || lazy.some(([, from = '']) => packages.includes(from));
}
