import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { FAILURES } from '../src/kernel/failure.ts';
import { listMetrics } from './fixtures/metric-names.ts';
import { onlyLong } from './scope.ts';

const ROOT = join(import.meta.dirname, '..');
const FOLDER = join(ROOT, 'deploy', 'prometheus');
const RULES = readFileSync(join(FOLDER, 'cardvault.rules.yaml'), 'utf8');
const RULE_TESTS = readFileSync(join(FOLDER, 'cardvault.rules.test.yaml'), 'utf8');
const DASHBOARD = readFileSync(join(ROOT, 'deploy', 'grafana', 'cardvault.json'), 'utf8');

/** The series of a histogram have names of their own. */
const toMetric = (name: string): string => name.replace(/_(bucket|count|sum)$/, '');

describe('the names of metrics', () => {
  let names: ReadonlySet<string>;
  before(async () => {
    names = new Set((await listMetrics()).map(({ name }) => name));
  });

  for (const [file, text] of [
    ['the rules', RULES],
    ['the tests of the rules', RULE_TESTS],
    ['the dashboard', DASHBOARD],
  ] as const)
    test(`${file} name metrics that exist`, {
      skip: process.platform !== 'linux' && 'some exist on Linux only',
    }, () => {
      const used = [...new Set(text.match(/\bcardvault_[a-z0-9_]+/g))];
      assert.ok(used.length > 20, `${used.length}`);
      assert.deepEqual(
        used.filter((name) => !names.has(name) && !names.has(toMetric(name))),
        [],
      );
    });

  test('every metric that the documents ask to watch is in the dashboard', () => {
    const rows = readFileSync(join(ROOT, 'docs', 'operations.md'), 'utf8').matchAll(/^\| (`cardvault_[^|]+) \|/gm);
    const watched = [...rows].flatMap(([, cell = '']) => [...cell.matchAll(/`(cardvault_[a-z0-9_]+)`/g)]);
    const shown = watched.map(([, name = '']) => name).filter((name) => !name.startsWith('cardvault_nodejs_'));
    const missing = shown.filter((name) => !DASHBOARD.includes(name));
    // They repeat others, or describe the machine.
    const left = /^cardvault_(audit_verified_records|process_(cpu_(user|system)|virtual|heap).*)$/;
    assert.ok(shown.length > 25);
    assert.deepEqual(
      missing.filter((name) => !left.test(name)),
      [],
    );
  });
});

/** One alert of the rules, as its lines state it. */
interface Alert {
  readonly name: string;
  readonly text: string;
}

const ALERTS: readonly Alert[] = RULES.split(/^ {6}- alert: /m)
  .slice(1)
  .map((text) => ({ name: text.split('\n', 1)[0] ?? '', text }));

/** The anchors that headings of a document have on the usual platforms. */
const anchorsOf = (path: string): string[] =>
  [...readFileSync(join(ROOT, path), 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

describe('the rules', () => {
  test('have alerts with names of their own', () => {
    assert.ok(ALERTS.length >= 30);
    assert.equal(new Set(ALERTS.map(({ name }) => name)).size, ALERTS.length);
  });

  for (const { name, text } of ALERTS)
    test(`${name} has a severity, a summary, a section that explains it, and tests`, () => {
      assert.match(text, /\n {8}expr: \S/);
      assert.match(text, /\n {10}severity: (warning|critical)\n/);
      assert.match(text, /\n {10}summary: '[^\n]{20,}'\n/);
      const [, path = '', anchor = ''] = /\n {10}runbook: (docs\/[a-z/]+\.md)#([a-z-]+)\n/.exec(text) ?? [];
      assert.ok(anchorsOf(path).includes(anchor), `${path}#${anchor}`);
      assert.ok(RULE_TESTS.includes(`name: '${name} fires'\n`));
      assert.ok(RULE_TESTS.includes(`name: '${name} is quiet'\n`));
    });

  test('name failures that exist', () => {
    const failures = [...RULES.matchAll(/failure="([a-z_]+)"/g)].map(([, code = '']) => code);
    assert.ok(failures.length > 0);
    for (const code of failures) assert.ok(Object.hasOwn(FAILURES, code), code);
  });
});

describe('the dashboard', () => {
  interface Panel {
    readonly id: number;
    readonly title: string;
    readonly type: string;
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
    readonly targets?: readonly { readonly expr: string }[];
  }
  const { panels, templating } = JSON.parse(DASHBOARD) as {
    panels: readonly Panel[];
    templating: { list: readonly { name: string }[] };
  };

  test('has panels with a place and an id of their own', () => {
    assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => `${x + (index % w)}/${y + Math.floor(index / w)}`),
    );
    assert.equal(new Set(cells).size, cells.length, 'panels that overlap');
    assert.ok(panels.every(({ gridPos: { x, w } }) => x + w <= 24));
  });

  test('filters by data source, job and instance', () => {
    const known = new Set(['__rate_interval', '__all', ...templating.list.map(({ name }) => name)]);
    for (const [, name = ''] of DASHBOARD.matchAll(/\$\{?([a-z_]+)\}?/g)) assert.ok(known.has(name), name);
    for (const { title, type, targets = [] } of panels) {
      assert.equal(targets.length > 0, type !== 'row', title);
      for (const { expr } of targets) assert.match(expr, /job=~"\$job", instance=~"\$instance"/, title);
    }
  });
});

const DOWNLOAD_MS = 240_000;

describe('the rules in Prometheus', { skip: onlyLong }, () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'cardvault-promtool-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  test('are accepted by promtool, and their tests pass and can fail', (context) => {
    const promtool = findPromtool(folder);
    if (promtool === undefined)
      return context.skip('this machine has no promtool, and cannot get the package of Debian');
    const run = (cwd: string, ...args: string[]) => spawnSync(promtool, args, { cwd, encoding: 'utf8' });
    const checked = run(FOLDER, 'check', 'rules', 'cardvault.rules.yaml');
    assert.equal(checked.status, 0, checked.stderr + checked.stdout);
    const tested = run(FOLDER, 'test', 'rules', 'cardvault.rules.test.yaml');
    assert.equal(tested.status, 0, tested.stderr + tested.stdout);
    const [head = '', first = ''] = RULE_TESTS.split(/^(?= {2}- name: )/m);
    writeFileSync(join(folder, 'cardvault.rules.test.yaml'), head + first);
    writeFileSync(join(folder, 'cardvault.rules.yaml'), RULES.replace('up{job="cardvault"} == 0', 'up > 1'));
    assert.equal(run(folder, 'test', 'rules', 'cardvault.rules.test.yaml').status, 1, 'an alert that does not fire');
  });
});

/** Returns the promtool of this machine, or that of Debian's package, which is unpacked and not installed. */
function findPromtool(folder: string): string | undefined {
  const paths = (process.env['PATH'] ?? '').split(delimiter).map((each) => join(each, 'promtool'));
  const present = paths.find(isExecutable);
  if (present !== undefined) return present;
  const options = { cwd: folder, timeout: DOWNLOAD_MS, stdio: 'ignore' } as const;
  const download = 'apt-get download prometheus && dpkg -x prometheus_*.deb .';
  spawnSync('/bin/sh', ['-c', `${download} || { apt-get update && ${download}; }`], options);
  const unpacked = join(folder, 'usr', 'bin', 'promtool');
  return existsSync(unpacked) ? unpacked : undefined;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
