import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, test } from 'node:test';
import { SETTINGS } from '../src/config.ts';
import { ENDPOINTS } from '../src/http/endpoints.ts';
import { Metrics } from '../src/http/metrics.ts';
import { PROBLEMS } from '../src/http/problems.ts';
import { FAILURES, type FailureCode } from '../src/kernel/failure.ts';

const root = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const documents = ['README.md', 'CHANGELOG.md', ...globSync('docs/**/*.md', { cwd: root })].sort();

/** The cells of the one table row whose first cell is this. */
function row(path: string, first: string): string[] {
  const rows = read(path)
    .split('\n')
    .filter((line) => line.startsWith(`| \`${first}\` |`));
  assert.equal(rows.length, 1, `${path}: expected one row for ${first}`);
  return (rows[0] ?? '')
    .slice(1, -1)
    .split('|')
    .map((cell) => cell.trim());
}

describe('docs/operations.md', () => {
  for (const [name, { fallback }] of Object.entries(SETTINGS)) {
    test(`has ${name} with its default`, () => {
      assert.equal(row('docs/operations.md', name)[1], fallback === '' ? 'empty' : `\`${fallback}\``);
    });
  }

  test('names no setting that does not exist', () => {
    for (const path of documents) {
      for (const [name] of read(path).matchAll(/\bCARDVAULT_[A-Z0-9_]*[A-Z0-9]\b/g)) {
        assert.ok(Object.hasOwn(SETTINGS, name), `${path}: ${name}`);
      }
    }
  });

  test('has every metric, and none that does not exist', () => {
    const { registry } = new Metrics({
      waitingWrites: () => 0,
      ready: async () => true,
      certificateEnds: async () => [],
    });
    const names = registry.getMetricsAsArray().map(({ name }) => name);
    const text = read('docs/operations.md');
    for (const name of names) assert.ok(text.includes(`\`${name}\``), name);
    // Elsewhere some metrics of the process do not exist.
    if (process.platform === 'linux') {
      for (const [, name = ''] of text.matchAll(/`(cardvault_[a-z0-9_]+)`/g)) assert.ok(names.includes(name), name);
    }
  });

  test('has every field of the log', () => {
    const source = /interface LogFields \{([^}]*)\}/.exec(read('src/http/log.ts'))?.[1] ?? '';
    const fields = [...source.matchAll(/readonly ([a-z_]+)\?/g)].map(([, name = '']) => name);
    assert.ok(fields.length > 0);
    const text = read('docs/operations.md');
    const logs = text.slice(text.indexOf('## Logs'), text.indexOf('## Limits'));
    for (const field of fields) assert.ok(logs.includes(`\`${field}\``), field);
  });
});

describe('docs/errors.md', () => {
  for (const code of Object.keys(FAILURES) as FailureCode[]) {
    test(`has ${code} with its status`, () => {
      assert.equal(row('docs/errors.md', code)[1], String(PROBLEMS[code].status));
    });
  }

  test('has no code that does not exist', () => {
    for (const [, code = ''] of read('docs/errors.md').matchAll(/^\| `([a-z_]+)` \|/gm)) {
      assert.ok(Object.hasOwn(FAILURES, code), code);
    }
  });

  test('says that what time can change, or is no 200 or 400, is not kept', () => {
    for (const code of Object.keys(FAILURES) as FailureCode[]) {
      const { status, passing } = PROBLEMS[code];
      if (status !== 400 || passing === true) assert.match(row('docs/errors.md', code)[4] ?? '', /^no\b/, code);
    }
  });
});

describe('docs/audit-log.md', () => {
  const source = /AUDIT_ACTIONS = \[([^\]]*)\]/.exec(read('src/audit/audit.ts'))?.[1] ?? '';
  const actions = [...source.matchAll(/'([a-z.]+)'/g)].map(([, action = '']) => action);

  test('is compared with a list of actions', () => assert.ok(actions.length > 0));

  for (const action of actions) {
    test(`has ${action}`, () => assert.equal(row('docs/audit-log.md', action).length, 4));
  }

  test('has no action that does not exist', () => {
    for (const [, action = ''] of read('docs/audit-log.md').matchAll(/^\| `([a-z]+\.[a-z]+)` \|/gm)) {
      assert.ok(actions.includes(action), action);
    }
  });
});

describe('docs/interface-map.md', () => {
  for (const { method, path } of ENDPOINTS) {
    const line = `${method} ${path.replace(/:([a-zA-Z]+)/g, '{$1}')}`;
    test(`has ${line} with source and test`, () => {
      const [, source = '', proof = ''] = row('docs/interface-map.md', line);
      assert.match(source, /`src\/http\/endpoints\//);
      assert.match(proof, /`test\/interface\//);
    });
  }
});

describe('README.md', () => {
  test('holds the two commands', () => {
    const lines = read('README.md').split('\n');
    assert.ok(lines.includes('    npm ci && npm start'));
    assert.ok(lines.includes('    npm ci && npm test'));
  });
});

describe('every document', () => {
  for (const path of documents) {
    test(`${path} names files that exist`, () => {
      const text = read(path);
      for (const [, named = ''] of text.matchAll(/`((?:src|test|docs|bin|bench)\/[^`\s]*)`/g)) {
        assert.ok(existsSync(join(root, named)), named);
      }
      for (const [, target = ''] of text.matchAll(/\]\(([^)]+)\)/g)) {
        const [file = '', anchor] = target.split('#');
        if (/^https?:/.test(target)) continue;
        const linked = file === '' ? join(root, path) : join(root, dirname(path), file);
        assert.ok(existsSync(linked), target);
        if (anchor !== undefined) assert.ok(anchors(linked).includes(anchor), target);
      }
    });

    test(`${path} names no machine and no registry`, () => {
      const found = /\/(?:work|tmp|root|home|Users)\/|registry\.|npmjs|\.\.\/shared|localhost:(?!844[345]\b)[0-9]/.exec(
        read(path),
      );
      assert.equal(found?.[0], undefined);
    });
  }

  test('is reached by links from README.md', () => {
    const seen = new Set<string>();
    const waiting = ['README.md'];
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      if (seen.has(path)) continue;
      seen.add(path);
      for (const [, target = ''] of read(path).matchAll(/\]\(([^)#]+\/?)(?:#[^)]*)?\)/g)) {
        const linked = relative(root, join(root, dirname(path), target));
        if (linked.endsWith('.md')) waiting.push(linked);
        else waiting.push(...documents.filter((document) => dirname(document) === linked.replace(/\/$/, '')));
      }
    }
    assert.deepEqual(
      documents.filter((path) => !seen.has(path)),
      [],
    );
  });
});

/** The anchors that headings of a file have on the usual platforms. */
const anchors = (file: string): string[] =>
  [...readFileSync(file, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
