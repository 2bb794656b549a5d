import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { FAILURES } from '../src/kernel/failure.ts';
import { eventually } from './fixtures/eventually.ts';
import { listMetrics } from './fixtures/metric-names.ts';
import { freePort } from './fixtures/postgres-server.ts';
import { SchemaTypes } from './fixtures/schema-types.ts';
import { newDirectory, removeDirectory, startProcess } from './fixtures/service-process.ts';
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

/** The public types of the dashboard, of two kinds of panels, and of a query of Prometheus. */
const GRAFANA = new SchemaTypes('grafana-schemas', [
  '@grafana/schema@13.2.3',
  '@grafana/grafana-foundation-sdk@0.0.21',
]);

/**
 * The types of a dashboard name its parts, but those of panels allow any option. Files have the values of enumerations as
 * text, and Grafana adds the options that a file leaves out.
 */
const PANEL_TYPES = `
import type { Dashboard, FieldConfig, FieldConfigSource, Panel, RowPanel, AnnotationQuery } from '@grafana/schema';
import type * as Stat from '@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen';
import type * as Series from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen';
import type { Dataquery } from '@grafana/grafana-foundation-sdk/prometheus';
type Text<T> = T extends string ? \`\${T}\` : T extends number | boolean | null | undefined ? T
  : T extends readonly (infer Each)[] ? Text<Each>[]
  : T extends object ? { [K in keyof T]: Text<T[K]> } : T;
type Parts<T> = T extends readonly unknown[] ? T : T extends object ? { [K in keyof T]?: Parts<T[K]> } : T;
type Query = Omit<Dataquery, '_implementsDataqueryVariant'>;
type Defaults<Custom> = Omit<FieldConfig, 'custom'> & { custom?: Parts<Custom> };
interface PanelOf<Type extends string, Options, Custom>
  extends Omit<Text<Panel>, 'type' | 'options' | 'targets' | 'fieldConfig'> {
  type: Type;
  options: Text<Parts<Options>>;
  targets: Text<Query>[];
  fieldConfig: Text<{ defaults: Defaults<Custom>; overrides: FieldConfigSource['overrides'] }>;
}
type AnyPanel = PanelOf<'stat', Stat.Options, object> | PanelOf<'timeseries', Series.Options, Series.FieldConfig> | Text<RowPanel>;
interface Checked extends Omit<Text<Dashboard>, 'panels' | 'annotations'> {
  panels: AnyPanel[];
  annotations: { list: (Omit<Text<AnnotationQuery>, 'target'> & { expr: string; titleFormat: string })[] };
}
export const dashboard: Checked = `;

/** A misspelled name or a value that does not exist, in the dashboard itself, a variable, options of both kinds of panels, and a query. */
const MISTAKES = [
  ['"schemaVersion": 39', '"schemaVersion": "39"'],
  ['"includeAll"', '"includeall"'],
  ['"graphMode": "none"', '"graphMode": "never"'],
  ['"showPoints": "never"', '"showPoints": "none"'],
  ['"legendFormat"', '"legend"'],
] as const;

describe('the types of Grafana', { skip: onlyLong }, () => {
  test('accept the dashboard, and no option that does not exist', (context) => {
    const why = GRAFANA.install();
    if (why !== false) return context.skip(why);
    const check = (dashboard: unknown): string => GRAFANA.check(`${PANEL_TYPES}${JSON.stringify(dashboard)};\n`);
    assert.equal(check(JSON.parse(DASHBOARD)), '');
    for (const [text, mistake] of MISTAKES) {
      assert.ok(DASHBOARD.includes(text), text);
      assert.notEqual(check(JSON.parse(DASHBOARD.replace(text, mistake))), '', mistake);
    }
    return undefined;
  });
});

const DOWNLOAD_MS = 240_000;
const PROMETHEUS_MS = 480_000;

/** The expressions of the dashboard, with values for what Grafana replaces. */
function listExpressions(): string[] {
  const expressions = [...DASHBOARD.matchAll(/"expr": ("(?:[^"\\]|\\.)*")/g)].map(
    ([, text = '']) => JSON.parse(text) as string,
  );
  const values = [...DASHBOARD.matchAll(/"query": "label_values\(((?:[^"\\]|\\.)*), [a-z]+\)"/g)];
  return [...expressions, ...values.map(([, text]) => JSON.parse(`"${text}"`) as string)].map((expression) =>
    expression.replaceAll('$__rate_interval', '5m').replaceAll(/\$[a-z]+/g, '.*'),
  );
}

/** Expressions of events that a service without traffic does not have, and of what operators configure. */
const WITHOUT_EVENTS = [
  /cardvault_(connections_refused|pipelined_connections|requests_unrecorded|payment_operations|processor_hosts_refused|webhook_attempts)/,
  /cardvault_(swept_records|resealed_records|audit_verified|audit_unsent|backup|proxy_certificate|client_certificate)/,
  /^changes\(|route=~"\/v1\/payments\.\*"|status=~"5\.\."/,
];

describe('the rules in Prometheus', { skip: onlyLong }, () => {
  let folder: string;
  let promtool: string | undefined;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'cardvault-promtool-'));
    promtool = findPromtool(folder);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const NO_PROMTOOL = 'this machine has no promtool, and cannot get the package of Debian';
  const run = (cwd: string, ...args: string[]) => spawnSync(promtool ?? '', args, { cwd, encoding: 'utf8' });

  test('have a language that every expression of the dashboard is written in', (context) => {
    if (promtool === undefined) return context.skip(NO_PROMTOOL);
    const expressions = listExpressions();
    assert.ok(expressions.length > 50, `${expressions.length}`);
    const check = (list: readonly string[]) => {
      const rules = list.map((expr, index) => ({ record: `dashboard:${index}`, expr }));
      // JSON is YAML.
      writeFileSync(join(folder, 'dashboard.yaml'), JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
      return run(folder, 'check', 'rules', 'dashboard.yaml');
    };
    const checked = check(expressions);
    assert.equal(checked.status, 0, checked.stderr + checked.stdout);
    const [first = '', ...others] = expressions;
    assert.equal(check([`${first})`, ...others]).status, 1, 'a parenthesis too many');
    return undefined;
  });

  test('are accepted by promtool, and their tests pass and can fail', (context) => {
    if (promtool === undefined) return context.skip(NO_PROMTOOL);
    const checked = run(FOLDER, 'check', 'rules', 'cardvault.rules.yaml');
    assert.equal(checked.status, 0, checked.stderr + checked.stdout);
    const tested = run(FOLDER, 'test', 'rules', 'cardvault.rules.test.yaml');
    assert.equal(tested.status, 0, tested.stderr + tested.stdout);
    const [head = '', first = ''] = RULE_TESTS.split(/^(?= {2}- name: )/m);
    writeFileSync(join(folder, 'cardvault.rules.test.yaml'), head + first);
    writeFileSync(join(folder, 'cardvault.rules.yaml'), RULES.replace('up{job="cardvault"} == 0', 'up > 1'));
    assert.equal(run(folder, 'test', 'rules', 'cardvault.rules.test.yaml').status, 1, 'an alert that does not fire');
  });

  test('are evaluated by a Prometheus that scrapes a service, and the dashboard has its series', {
    timeout: PROMETHEUS_MS,
  }, async (context) => {
    const prometheus = promtool === undefined ? '' : join(dirname(promtool), 'prometheus');
    if (!existsSync(prometheus))
      return context.skip('this machine has no prometheus, and cannot get the package of Debian');
    const directory = newDirectory();
    const service = await startProcess(directory);
    const port = await freePort();
    const configuration = {
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: [join(FOLDER, 'cardvault.rules.yaml')],
      scrape_configs: [
        {
          job_name: 'cardvault',
          scheme: 'https',
          tls_config: { ca_file: join(directory, 'tls', 'ca.pem'), server_name: 'localhost' },
          static_configs: [{ targets: [`127.0.0.1:${service.ports.console}`] }],
        },
      ],
    };
    // JSON is YAML.
    writeFileSync(join(directory, 'prometheus.yaml'), JSON.stringify(configuration));
    const options = [
      `--config.file=${join(directory, 'prometheus.yaml')}`,
      `--storage.tsdb.path=${join(directory, 'prometheus')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ];
    const running = spawn(prometheus, options, { stdio: 'ignore' });
    const ended = once(running, 'close');
    // biome-ignore lint/suspicious/noExplicitAny: responses of every shape
    const ask = async (path: string): Promise<any> => (await fetch(`http://127.0.0.1:${port}/api/v1/${path}`)).json();
    const query = async (expression: string): Promise<{ status: string; data: { result: readonly unknown[] } }> =>
      ask(`query?query=${encodeURIComponent(expression)}`);
    try {
      await service.call('GET', '/v1/account', { key: 'wrong' });
      const scrapes = 'count_over_time(cardvault_ready[5m]) >= 5';
      const isScraped = (): Promise<boolean> =>
        query(scrapes).then(
          ({ data }) => data.result.length > 0,
          () => false,
        );
      await eventually(isScraped, PROMETHEUS_MS / 2);
      const empty: string[] = [];
      for (const expression of listExpressions()) {
        const { status, data } = await query(expression);
        assert.equal(status, 'success', expression);
        if (data.result.length === 0) empty.push(expression);
      }
      assert.deepEqual(
        empty.filter((expression) => !WITHOUT_EVENTS.some((each) => each.test(expression))),
        [],
      );
      await eventually(async () => {
        const { groups } = (await ask('rules')).data;
        const rules: { name: string; health: string }[] = groups.flatMap((group: { rules: object[] }) => group.rules);
        assert.deepEqual(
          rules.filter(({ health }) => health === 'err'),
          [],
        );
        return rules.length === ALERTS.length && rules.every(({ health }) => health === 'ok');
      });
    } finally {
      running.kill('SIGKILL');
      await Promise.all([ended, service.kill()]);
      removeDirectory(directory);
    }
    return undefined;
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
