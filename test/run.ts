import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { killOverdueChildren } from './child-timeout.ts';
import { whyNoChromium } from './fixtures/chromium.ts';
import { isPostgres } from './fixtures/database.ts';
import { type Postgres, SHARED, startPostgres } from './fixtures/postgres.ts';
import { whyNoPostgres } from './fixtures/postgres-binaries.ts';
import { memoryFolder } from './fixtures/postgres-server.ts';
import { installReceivers } from './receivers/install.ts';

/**
 * Runs `npm test`: types, style, then every test file, and those about storage a second time over PostgreSQL. Arguments
 * select files by a part of their path. With TEST_DATABASE=postgres all of them run once, over PostgreSQL. The last line
 * is the count.
 */
const root = join(import.meta.dirname, '..');
const bin = (name: string): string => join(root, 'node_modules', '.bin', name);
const wanted = process.argv.slice(2);
const say = (line: string): boolean => process.stdout.write(`${line}\n`);

/** What must be the same whatever the database. With TEST_PASSES=all each of these files runs over PostgreSQL too. */
const BOTH_DATABASES = /^test\/(interface|simulation)\//;
/** The files of these that test how records are stored. The contract in `test/contracts` holds for the others. */
const ABOUT_STORAGE =
  /\/(altered-accounts|altered-keys|altered-payments|captures|captures-expiry|clock-jumps|idempotency|idempotency-stored|key-changes|payments|payments-erasure|payments-expiry|payments-idempotency|payments-races|payments-tokens|proxy-parallel|simulation|tokens|tokens-stored|tokens-persistent)\.test\.ts$/;
const isSecondPass = (file: string): boolean =>
  BOTH_DATABASES.test(file) && (process.env['TEST_PASSES'] === 'all' || ABOUT_STORAGE.test(file));
/** What looks at the console as people do. */
const IN_BROWSER = /^test\/browser\//;
/** Files about one process and no other: as many of them share one, which loads the sources once. */
const TOGETHER = [
  { files: IN_BROWSER, atMost: 8 },
  { files: /^(src|console|test\/(interface|console|processors))\//, atMost: 12 },
];
const CONCURRENCY = 3;
const WITHIN_MS = 600_000;
/** A process that is over this time, too, is killed. */
const KILLED_AFTER_MS = WITHIN_MS + 20_000;
const MEASURE = pathToFileURL(join(import.meta.dirname, 'measure.ts')).href;
const DEADLINE = pathToFileURL(join(import.meta.dirname, 'deadline.ts')).href;

const counts = { passed: 0, failed: 0, skipped: 0 };
/** Told once more at the end, where they are looked for: thousands of lines may follow them. */
const failures: string[] = [];
process.on('exit', () => {
  for (const failure of failures) say(`\n✖ ${failure}`);
  say(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  if (counts.failed > 0 || counts.passed === 0) process.exitCode = 1;
});

function check(command: string, args: readonly string[]): boolean {
  const { status } = spawnSync(bin(command), args, { cwd: root, stdio: 'inherit' });
  return status === 0;
}

/** The files that a browser loads, of the sources as they are now. */
function buildConsole(): boolean {
  const { status } = spawnSync(process.execPath, [join(root, 'scripts', 'build-console.ts')], { stdio: 'inherit' });
  return status === 0;
}

interface ReportEvent {
  readonly type: string;
  readonly data: { readonly name?: string; readonly nesting?: number };
}

/** Puts the label before the name of what stands at the top of a file. */
const labelled = (label: string) =>
  async function* (events: AsyncIterable<ReportEvent>): AsyncGenerator<ReportEvent> {
    for await (const { type, data } of events) {
      const { name, nesting } = data;
      yield { type, data: name === undefined || nesting !== 0 ? data : { ...data, name: `${label}${name}` } };
    }
  };

/** Files to run, each in a process of its own: groups of those that share one, and the others as they are. */
function inProcesses(files: readonly string[]): string[] {
  const alone = files.filter((file) => !TOGETHER.some((each) => each.files.test(file)));
  const groups = TOGETHER.flatMap((each) => {
    const together = files.filter((file) => each.files.test(file));
    const count = Math.ceil(together.length / each.atMost);
    return Array.from({ length: count }, (_, at) => together.filter((_, index) => index % count === at));
  });
  const written = groups.map((group, index) => {
    const path = join(scratch, `group-${index + 1}.test.mjs`);
    writeFileSync(
      path,
      [
        "import { after, before, describe } from 'node:test';",
        `import { startMeasuring } from ${JSON.stringify(MEASURE)};`,
        ...group.map(asSuite),
        '',
      ].join('\n'),
    );
    return path;
  });
  return [...alone.map((file) => join(root, file)), ...written];
}

function asSuite(file: string): string {
  const [name, url] = [file, pathToFileURL(join(root, file)).href].map((part) => JSON.stringify(part));
  return `describe(${name}, () => { let end; before(() => { end = startMeasuring(${name}); }); after(() => end()); return import(${url}); });`;
}

const failureTypeOf = (error: unknown): unknown => (error as { readonly failureType?: unknown }).failureType;

async function runAll(
  files: readonly string[],
  environment: Readonly<Record<string, string>>,
  label = '',
): Promise<void> {
  if (files.length === 0) return;
  const env = { ...process.env, ...environment };
  const execArgv = ['--import', `${DEADLINE}?ms=${WITHIN_MS}`];
  const stream = run({ files: inProcesses(files), concurrency: CONCURRENCY, execArgv, cwd: root, env });
  stream.on('test:pass', ({ details, skip }) => {
    // A suite that is skipped tells nothing of its tests.
    if (skip !== undefined && skip !== false) counts.skipped++;
    else if (details.type !== 'suite') counts.passed++;
  });
  stream.on('test:fail', ({ name, details }) => {
    // A suite repeats the failures of its tests. A hook of its own that fails is reported nowhere else.
    if (details.type === 'suite' && failureTypeOf(details.error) === 'subtestsFailed') return;
    counts.failed++;
    failures.push(`${label}${name}\n${inspect(details.error.cause ?? details.error)}`);
  });
  const lines = Readable.from(labelled(label)(stream)).pipe(spec());
  for await (const text of lines) process.stdout.write(text as string);
}

// Hundreds of databases for a moment each: memory is as good a place, where there is enough.
process.env['TMPDIR'] ??= memoryFolder() ?? tmpdir();
const scratch = mkdtempSync(join(tmpdir(), 'cardvault-tests-'));
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));
/** Some hundred processes load the same sources: compiled once, each of them starts a second earlier. */
process.env['NODE_COMPILE_CACHE'] = join(scratch, 'compiled');

async function runPasses(): Promise<void> {
  const files = globSync(
    ['src/**/*.test.ts', 'console/{people,server,wire}/**/*.test.ts', 'test/**/*.test.ts', 'bench/**/*.test.ts'],
    { cwd: root },
  )
    .sort()
    .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)));
  if (files.some((file) => IN_BROWSER.test(file))) {
    const why = whyNoChromium();
    if (why !== false) say(`nothing is shown in a browser: ${why}`);
    else if (!buildConsole()) counts.failed++;
  }
  const again = files.filter((file) => isPostgres || isSecondPass(file));
  const why = again.length === 0 && wanted.length > 0 ? 'no file is about it' : whyNoPostgres();
  const postgres: Postgres | undefined = why === false ? await startPostgres({ isCareless: true }) : undefined;
  try {
    const shared = postgres && { [SHARED]: JSON.stringify(postgres.ways) };
    if (!isPostgres) await runAll(files, { ...shared });
    if (postgres !== undefined) {
      say(`over PostgreSQL ${postgres.release}:`);
      await runAll(again, { ...shared, TEST_DATABASE: 'postgres' }, 'PostgreSQL: ');
    } else if (again.length > 0) {
      for (const file of again) say(`skipped over PostgreSQL: ${file}: ${why}`);
      counts.skipped += again.length;
    }
  } finally {
    await postgres?.stop();
  }
}

if (wanted.length > 0 || (check('tsc', []) && check('tsc', ['-p', 'console/web']) && check('biome', ['check', '.']))) {
  killOverdueChildren(DEADLINE, KILLED_AFTER_MS);
  // Before the files are run side by side; tests of what is still missing say so and are skipped.
  for (const tool of installReceivers()) say(`not on this machine: ${tool}`);
  await runPasses();
} else {
  say('types or style are at fault');
  counts.failed++;
}
