import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { killOverdueChildren } from './child-timeout.ts';
import { whyNoChromium } from './fixtures/chromium.ts';
import { isPostgres } from './fixtures/database.ts';
import { SHARED, startPostgres } from './fixtures/postgres.ts';
import { whyNoPostgres } from './fixtures/postgres-binaries.ts';
import { memoryFolder } from './fixtures/postgres-server.ts';
import { SHARED_KEYS } from './fixtures/rsa-key-pairs.ts';
import { isInBrowser, isInScope, isSecondPass, startsJava, toProcesses } from './plan.ts';
import { installReceivers } from './receivers/install.ts';
import { compileJava } from './receivers/java.ts';
import { scope as inherited, SCOPE, type Scope } from './scope.ts';

/**
 * Runs the tests: every file, those about storage a second time over PostgreSQL, and the checks of types and style beside
 * them. `--fast` leaves out what needs a service, a browser or minutes; see `plan.ts`. Arguments select files by a part of
 * their path, without the checks. With TEST_DATABASE=postgres all files run once, over PostgreSQL. The last line is the
 * count.
 */
const root = join(import.meta.dirname, '..');
const options = process.argv.slice(2);
const scope: Scope = options.includes('--fast') ? 'fast' : inherited;
const selected = options.filter((option) => option !== '--fast');
const print = (line: string): boolean => process.stdout.write(`${line}\n`);

/** Half of the processes wait: for a browser, a database or a time. */
const CONCURRENCY = Math.max(4, availableParallelism() + 3);
const WITHIN_MS = scope === 'long' ? 1_800_000 : 600_000;
/** A process that is over this time, too, is killed. */
const KILLED_AFTER_MS = WITHIN_MS + 20_000;
const urlOf = (file: string): string => pathToFileURL(join(root, file)).href;

const counts = { passed: 0, failed: 0, skipped: 0 };
/** Repeated at the end: thousands of lines may follow them. */
const failures: string[] = [];
process.on('exit', () => {
  for (const failure of failures) print(`\n✖ ${failure}`);
  print(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  if (counts.failed > 0 || counts.passed === 0) process.exitCode = 1;
});

// Hundreds of short-lived databases: in memory where there is enough.
process.env['TMPDIR'] ??= memoryFolder() ?? tmpdir();
process.env[SCOPE] = scope;
const scratch = mkdtempSync(join(tmpdir(), 'cardvault-tests-'));
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));
/** Some hundred processes load the same sources: compiled once on a machine, each of them starts a second earlier. */
const COMPILED = join(root, 'node_modules', '.cache', 'cardvault-compiled');
/** More than the sources have, because the groups of files have other names in each run. */
const MOST_COMPILED = 6000;
// Processes of another run may be writing there.
if (existsSync(COMPILED) && readdirSync(COMPILED, { recursive: true }).length > MOST_COMPILED)
  rmSync(COMPILED, { recursive: true, force: true, maxRetries: 10 });
process.env['NODE_COMPILE_CACHE'] = COMPILED;
process.env[SHARED_KEYS] = scratch;

/** Several threads of the compiler check some types twice, and the tests need the other cores. */
const CHECKS: readonly (readonly [name: string, command: string, ...args: string[]])[] = [
  ['types', 'tsc', '--singleThreaded'],
  ['types of the console', 'tsc', '--singleThreaded', '-p', 'console/web'],
  ['types of the card form', 'tsc', '--singleThreaded', '-p', 'card-form'],
  ['style', 'biome', 'check', '.'],
];

async function checkTypesAndStyle(): Promise<void> {
  for (const [name, command, ...args] of CHECKS) {
    const child = spawn(join(root, 'node_modules', '.bin', command), args, { cwd: root });
    const output: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => output.push(chunk));
    const [code] = (await once(child, 'close')) as [number | null];
    if (code === 0) continue;
    counts.failed++;
    failures.push(`${name}\n${Buffer.concat(output)}`);
  }
}

/** Builds what a browser loads from the sources as they are now. */
const buildPages = (): boolean =>
  ['build-console.ts', 'build-card-form.ts'].every(
    (script) => spawnSync(process.execPath, [join(root, 'scripts', script)], { stdio: 'inherit' }).status === 0,
  );

/** Writes a module that runs the files one after another, and returns its path. */
function writeProcess(files: readonly string[], name: string, { overPostgres = false } = {}): string {
  const path = join(scratch, `${name}.test.mjs`);
  const suites = files.map((file) => {
    const title = JSON.stringify(overPostgres ? `PostgreSQL: ${file}` : file);
    return `describe(${title}, () => { measure(${title}); return load(${JSON.stringify(urlOf(file))}); });`;
  });
  const lines = [
    `import ${JSON.stringify(`${urlOf('test/deadline.ts')}?ms=${WITHIN_MS}`)};`,
    `import { stopTracking } from ${JSON.stringify(urlOf('test/async-tracking.ts'))};`,
    "import { after, before, describe } from 'node:test';",
    ...(overPostgres ? ["process.env.TEST_DATABASE = 'postgres';"] : []),
    `const { startMeasuring } = await import(${JSON.stringify(urlOf('test/measure.ts'))});`,
    'const measure = (name) => { let end; before(() => { end = startMeasuring(name); }); after(() => end()); };',
    'const loaded = [];',
    'const load = (url) => { const file = import(url); loaded.push(file); return file; };',
    ...suites,
    'await Promise.allSettled(loaded);',
    'stopTracking();',
  ];
  writeFileSync(path, `${lines.join('\n')}\n`);
  return path;
}

const failureTypeOf = (error: unknown): unknown => (error as { readonly failureType?: unknown }).failureType;

async function runProcesses(files: string[], environment: Readonly<Record<string, string>>): Promise<void> {
  if (files.length === 0) return;
  const env = { ...process.env, ...environment };
  const stream = run({ files, concurrency: CONCURRENCY, cwd: root, env });
  stream.on('test:pass', ({ details, skip }) => {
    // A suite that is skipped reports none of its tests.
    if (skip !== undefined && skip !== false) counts.skipped++;
    else if (details.type !== 'suite') counts.passed++;
  });
  stream.on('test:fail', ({ name, details }) => {
    // A suite repeats the failures of its tests. A hook of its own that fails is reported nowhere else.
    if (details.type === 'suite' && failureTypeOf(details.error) === 'subtestsFailed') return;
    counts.failed++;
    failures.push(`${name}\n${inspect(details.error.cause ?? details.error)}`);
  });
  // An exception that no test catches ends its process, and no test reports it.
  stream.on('test:diagnostic', ({ message }) => {
    if (/(uncaughtException|unhandledRejection) event/.test(message)) failures.push(message);
  });
  for await (const text of Readable.from(stream).pipe(spec())) process.stdout.write(text as string);
}

function findFiles(): string[] {
  const patterns = ['src/**', 'console/{approvals,people,server,wire}/**', 'test/**', 'bench/**'];
  return globSync(
    patterns.map((folder) => `${folder}/*.test.ts`),
    { cwd: root },
  )
    .sort()
    .filter((file) => isInScope(file, scope))
    .filter((file) => selected.length === 0 || selected.some((part) => file.includes(part)));
}

async function runFiles(files: readonly string[]): Promise<void> {
  if (files.some(isInBrowser)) {
    const why = whyNoChromium();
    if (why !== false) print(`nothing is shown in a browser: ${why}`);
    else if (!buildPages()) counts.failed++;
  }
  const again = files.filter((file) => !isPostgres && isSecondPass(file, scope));
  const needsPostgres = scope !== 'fast' && (isPostgres || again.length > 0 || selected.length === 0);
  const why = needsPostgres ? whyNoPostgres() : 'no file needs it';
  // Else each of the processes that run side by side would compile.
  const compiling = files.some(startsJava) ? compileJava() : undefined;
  const starting = why === false ? startPostgres({ isCareless: true }) : undefined;
  const [postgres] = await Promise.all([starting, compiling]);
  try {
    const first = toProcesses(files).map((group, index) => writeProcess(group, `group-${index + 1}`));
    const second = postgres === undefined ? [] : toProcesses(again);
    if (postgres === undefined) {
      for (const file of again) print(`skipped over PostgreSQL: ${file}: ${why}`);
      counts.skipped += again.length;
    } else print(`PostgreSQL ${postgres.release}`);
    const overPostgres = second.map((group, index) =>
      writeProcess(group, `postgres-${index + 1}`, { overPostgres: true }),
    );
    await runProcesses(
      [...overPostgres, ...first],
      postgres === undefined ? {} : { [SHARED]: JSON.stringify(postgres.ways) },
    );
  } finally {
    await postgres?.stop();
  }
}

killOverdueChildren(scratch, KILLED_AFTER_MS);
// Installed before files run side by side; tests of what is missing skip with that reason.
if (scope !== 'fast') for (const tool of installReceivers()) print(`not on this machine: ${tool}`);
await Promise.all([runFiles(findFiles()), selected.length > 0 ? undefined : checkTypesAndStyle()]);
