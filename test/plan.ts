import { inScope, type Scope } from './scope.ts';

/** Which test files run in which scope, in which order, and which of them share a process. */

/** Files about storage, and the diagnosis. They run a second time over PostgreSQL; the contract in test/contracts holds for the others. */
const STORAGE_SUITES = [
  'captures',
  'captures-expiry',
  'idempotency',
  'idempotency-stored',
  'payments',
  'payments-erasure',
  'payments-idempotency',
  'payments-races',
  'request-log',
  'payments-totals',
  'tokens',
  'tokens-stored',
  'tokens-persistent',
].map((name) => `test/interface/${name}.test.ts`);
STORAGE_SUITES.push(
  'test/simulation/simulation.test.ts',
  'src/accounts/request-log.test.ts',
  'src/audit/audit-log-query.test.ts',
  'src/captures/capture-queries.test.ts',
  'test/whole/doctor.test.ts',
);

/** Files whose subject is the same over either database: with `npm run test:long` all of them run over both. */
const BOTH_DATABASES = /^test\/(interface\/|simulation\/|whole\/(doctor|request-threads))/;

const IN_BROWSER = /^test\/browser\//;
const STARTS_JAVA = /^test\/(interop|receivers)\/|^test\/guides\.test\.ts$/;

/** Suites about bytes on the connection, headers and the order of checks. */
const WIRE =
  /^test\/interface\/(addresses|answers|responses|cors|headers|hostile-requests|malformed-http|media-types|order-of-checks|pipelin\w*|routes?[-\w]*|tls|unused-connections|wire[-\w]*)\.test\.ts$/;
/** Sources, texts and rules of the tree. */
const FAST =
  /^(src\/|test\/(architecture|canaries|console-texts|console-values|deadline|docs|evidence|language|reset|wycheproof)\.test\.ts$|test\/simulation\/)/;

/** Files of one process share the loaded sources. A file that starts processes or measures has one of its own. */
const SHARED_PROCESS = [
  { files: IN_BROWSER, atMost: 10 },
  { files: /^(src|console|test\/(interface|console|processors))\//, atMost: 48 },
  { files: /^test\/(whole|storage|contracts)\//, atMost: 8 },
];

/**
 * Files that take longest begin first, so that the last minute has work for every core; before them those that wait for
 * half a minute with hardly any work, which would be alone at the end.
 */
const SLOWEST = [
  'test/interface/unused-connections.test.ts',
  'test/whole/nodes-leases.test.ts',
  'test/guides.test.ts',
  'test/simulation/simulation.test.ts',
  'test/whole/copy.test.ts',
  'test/receivers/receivers.test.ts',
  'test/interop/wssec.test.ts',
  'test/postgres.test.ts',
  'test/contracts/database-postgres-sharded.test.ts',
  'test/whole/starters.test.ts',
  'test/whole/nodes-unavailable.test.ts',
  'test/contracts/database-postgres.test.ts',
  'bench/bench.test.ts',
  'test/interop/jose.test.ts',
  'test/chaos/checks.test.ts',
  'test/deadline.test.ts',
  'test/receivers/jose-receivers.test.ts',
  'test/chaos/chaos.test.ts',
];

export const isInBrowser = (file: string): boolean => IN_BROWSER.test(file);
export const startsJava = (file: string): boolean => STARTS_JAVA.test(file);

export const isInScope = (file: string, scope: Scope): boolean =>
  scope !== 'fast' || FAST.test(file) || WIRE.test(file);

export const isSecondPass = (file: string, scope: Scope): boolean =>
  scope !== 'fast' && (scope === 'long' ? BOTH_DATABASES.test(file) : STORAGE_SUITES.includes(file));

/** Suites have several times as many cases there, and a process has a limited time. */
const SMALLER = inScope({ usual: 1, long: 4 });

/** Returns the processes of a run, each with its files; those that take longest first. */
export function toProcesses(files: readonly string[]): string[][] {
  const slowest = SLOWEST.filter((file) => files.includes(file)).map((file) => [file]);
  const quicker = files.filter((file) => !SLOWEST.includes(file));
  const isShared = (file: string): boolean => SHARED_PROCESS.some((shared) => shared.files.test(file));
  const others = quicker.filter((file) => !isShared(file)).map((file) => [file]);
  const groups = SHARED_PROCESS.flatMap((shared) =>
    split(
      quicker.filter((file) => shared.files.test(file)),
      shared.atMost / SMALLER,
    ),
  );
  return [...groups, ...slowest, ...others];
}

/** Neighbors in the list go to different groups: names that begin alike take about as long. */
function split(files: readonly string[], atMost: number): string[][] {
  const count = Math.ceil(files.length / atMost);
  return Array.from({ length: count }, (_, group) => files.filter((_, index) => index % count === group));
}
