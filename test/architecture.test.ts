import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { ENDPOINTS } from '../src/http/endpoints.ts';

/** The reading order: a file imports from its own place and from places above it, never below. */
const PLACES = [
  'src/kernel',
  'src/crypto',
  'src/storage',
  'src/audit',
  'src/idempotency',
  'src/accounts',
  'src/webhooks',
  'src/vault',
  'src/captures',
  'src/capture-sessions',
  'src/placeholders',
  'src/payments',
  'src/proxy',
  'src/transfer',
  'src/rotation',
  'src/http',
  'src/version.ts',
  'src/backup',
  'src/tables.ts',
  'src/doctor',
  'src/cli',
  'console/people',
  'console/approvals',
  'console/alerts',
  'console/wire',
  'console/server',
  'console/cli.ts',
  'console/tables.ts',
  'console/open.ts',
  'src/config.ts',
  'src/core.ts',
  'src/clocks.ts',
  'src/start-memory.ts',
  'src/background.ts',
  'src/node.ts',
  'src/unseal-peers.ts',
  'src/sealed.ts',
  'src/card-listener.ts',
  'src/worker.ts',
  'src/workers.ts',
  'src/app.ts',
  'src/main.ts',
] as const;

/**
 * The files of the vault that the console may import: `kernel`, and those in this list. A new entry needs a decision:
 * use cases and queries rather than stores, so that the console cannot change records behind a use case.
 */
const SHARED_WITH_CONSOLE: readonly string[] = [
  'src/idempotency/transaction.ts',
  'src/kernel',
  'src/accounts/account.ts',
  'src/accounts/accounts.ts',
  'src/accounts/allow-list.ts',
  'src/accounts/api-key.ts',
  'src/accounts/change-control.ts',
  'src/accounts/permission.ts',
  'src/accounts/request-log-query.ts',
  'src/accounts/request-log-terms.ts',
  'src/accounts/usage.ts',
  'src/audit/audit-log-query.ts',
  'src/audit/audit.ts',
  'src/capture-sessions',
  'src/captures/capture-queries.ts',
  'src/captures/captures.ts',
  'src/captures/deletion-receipts.ts',
  'src/crypto/fingerprint.ts',
  'src/crypto/keyring.ts',
  'src/crypto/seal.ts',
  'src/crypto/signing-key.ts',
  'src/crypto/sealed-json.ts',
  'src/crypto/wrapped-key.ts',
  'src/http/fields.ts',
  'src/http/keyed-request.ts',
  'src/http/route.ts',
  'src/payments/commands.ts',
  'src/payments/payment-activations.ts',
  'src/payments/payment-queries.ts',
  'src/payments/payment.ts',
  'src/payments/payments.ts',
  'src/payments/processor.ts',
  'src/payments/settings.ts',
  'src/payments/transitions.ts',
  'src/payments/unknown-outcomes.ts',
  'src/proxy/payload-proxy.ts',
  'src/proxy/proxy-configuration.ts',
  'src/proxy/proxy-configurations.ts',
  'src/proxy/settings.ts',
  'src/storage/cache.ts',
  'src/storage/database.ts',
  'src/vault/token-queries.ts',
  'src/vault/token-retention.ts',
  'src/vault/vault.ts',
  'src/webhooks/requested-changes.ts',
  'src/webhooks/webhook.ts',
  'src/webhooks/webhooks.ts',
];

/** Further files that the console may import, each with its reason. */
const SHARED_FURTHER: Readonly<Record<string, string>> = {
  'src/accounts/account-events.ts': 'the audit event of an account that answers the question about dual control',
  'src/accounts/account-notices.ts': "an account's decision about dual control, and notices of operators' changes",
  'src/accounts/account-store.ts': 'figures of all accounts in one read, and the lock under which members are added',
  'src/accounts/api-key-store.ts': 'progress of the keys of an account, for onboarding',
  'src/accounts/issue-key.ts': 'checks the attributes of a key before an approval is requested',
  'src/audit/access-recorder.ts': 'records of reading the log',
  'src/audit/altered-rows.ts': 'number of altered rows, for Health',
  'src/audit/chain-reader.ts': 'whether the log is sealed, for Health',
  'src/audit/export-format.ts': 'the lines of an export',
  'src/audit/journal-tail.ts': 'how far receivers of the log are behind, for alerts',
  'src/audit/review-rules.ts': 'the rules of the daily review, for alerts',
  'src/audit/review-store.ts': 'what the daily review found, for alerts',
  'src/audit/shipping.ts': 'the receivers of the log, for alerts',
  'src/audit/receipt.ts': 'the file of a receipt',
  'src/audit/verification-store.ts': 'whether the log was verified, for alerts',
  'src/audit/verify-journal.ts': 'export of the log',
  'src/audit/verify-log.ts': 'verification of the log',
  'src/backup/backup-store.ts': 'times of backups and drills, for alerts',
  'src/captures/capture-store.ts': 'number of captures',
  'src/cli/context.ts': 'the operator commands',
  'src/cli/output.ts': 'the operator commands',
  'src/crypto/digest-keys.ts': 'the key of the audit log, and of the digests of users',
  'src/crypto/sad-keys.ts': 'a dependency of the queries of captures',
  'src/http/browser-headers.ts': 'headers of the files of the browser',
  'src/http/endpoints.ts': 'the calls that make an account live',
  'src/http/endpoint.ts': 'the type of the listener of the card form',
  'src/http/endpoints/create-capture.ts': 'the wire form of additional data',
  'src/http/envelopes.ts': 'renders the result of an executed approval',
  'src/http/payment-response.ts': 'the wire form of payments',
  'src/http/rate-limit.ts': 'limits of users',
  'src/http/request-body.ts': 'parses the body of a stored call',
  'src/http/request-counters.ts': 'latencies of the overview',
  'src/http/server.ts': 'the HTTP server of the listener',
  'src/http/workbench.ts': 'runs a request of the workbench',
  'src/proxy/configuration-view.ts': 'the view that commands print',
  'src/rotation/key-ages.ts': 'keys that are older than their period, for alerts',
  'src/storage/journal.ts': 'whether the log is sealed, for Health',
  'src/storage/mac-table.ts': 'the key of row MACs, for figures of all accounts',
  'src/storage/migrate.ts': 'the schema version, for Health',
  'src/storage/periodic-task.ts': 'types of periodic work',
  'src/storage/digest-columns.ts': 'the type of its columns of digests',
  'src/storage/sealed-columns.ts': 'the type of its sealed columns',
  'src/payments/payment-totals.ts': 'sums of payments, for the overview',
  'src/storage/pagination.ts': 'lets other requests run between large reads',
  'src/storage/sort-order.ts': 'the orders of lists',
  'src/storage/table.ts': 'the type of its tables',
  'src/storage/wrapped-key-store.ts': 'the keyring page',
  'src/webhooks/signature.ts': 'the text of a secret that is shown once',
};

/** The tables that the console may write to; all others are written by the use cases of the vault. */
const CONSOLE_TABLES: ReadonlySet<string> = new Set([
  'people',
  'sign_in_states',
  'factors',
  'memberships',
  'invitations',
  'saved_views',
  'sessions',
  'approvals',
  'activation_requests',
  'alerts',
  'seen_alerts',
  'alert_mails',
  'mail_schedules',
  'person_mails',
]);

/**
 * The only files that commit units themselves; all others fill a `Transaction`. A folder ends with `/`. A new entry needs a
 * reason as these have.
 */
const COMMITTING: Readonly<Record<string, string>> = {
  'src/idempotency/transaction.ts': 'the one commit loop',
  'src/idempotency/idempotency-keys.ts': 'claims and leases, before a transaction and beside it; sweep',
  'src/storage/': 'drivers, and the mechanism below them',
  'src/audit/': 'below the transaction in the import order',
  'src/core.ts': 'the first keys of a vault',
  'src/rotation/resealing.ts': 'rows that are sealed again, in the background',
  'src/rotation/wrapping-rotation.ts': 'keys that are wrapped again, each in its account',
  'src/rotation/destruction.ts': 'continues a rotation that had finished',
  'src/accounts/authentication.ts': 'last use of keys, periodically, and digests under the new version of their key',
  'src/accounts/request-log-store.ts': 'recorded requests, periodically',
  'src/accounts/usage.ts': 'counters, periodically',
  'src/webhooks/expiry-marks.ts': 'dates that were seen, and removal of old ones',
  'src/webhooks/delivery-batches.ts': 'many deliveries some at a time, before a transaction or after it',
  'src/webhooks/dispatcher.ts': 'claims and results of deliveries',
  'src/webhooks/webhook-store.ts': 'sweep',
  'src/vault/token-store.ts': 'sweep',
  'src/vault/token-uses.ts': 'last use of tokens, periodically',
  'src/captures/capture-store.ts': 'sweep',
  'src/capture-sessions/session-store.ts': 'sweep',
  'src/captures/captures.ts': 'seals sensitive data again after a late commit; records destroyed keys',
  'src/payments/recovery.ts': 'claims of the recovery job',
  'src/payments/processors/simulator/': 'stands for a processor, with tables of its own',
  'console/alerts/alert-mails.ts': 'claims of mails, and what was sent',
  'console/alerts/person-mails.ts': 'claims of mails, and what was sent',
  'console/alerts/alerts.ts': 'alerts, periodically',
  'console/approvals/approval-store.ts': 'sweep',
  'console/people/session-store.ts': 'sweep',
  'console/people/invitation-store.ts': 'sweep',
};

const ROOT = join(import.meta.dirname, '..');

/** Calls that only one place may contain, and their replacement. */
const BANNED: readonly { pattern: RegExp; homes: readonly string[]; instead: string }[] = [
  { pattern: /\bDate\.now\b/, homes: ['src/clocks.ts'], instead: 'the clock that is passed in' },
  { pattern: /\bnew Date\(\s*\)/, homes: [], instead: 'the clock that is passed in' },
  { pattern: /(?<!new )\bDate\(/, homes: [], instead: 'the clock that is passed in' },
  {
    pattern: /\bperformance\.now\b/,
    // The second starts a thread, to which no clock can be passed.
    homes: ['src/clocks.ts', 'src/storage/sqlite/writer-thread.ts'],
    instead: 'the clock that is passed in',
  },
  { pattern: /\bMath\.random\b/, homes: [], instead: 'the Random that is passed in' },
  {
    pattern: /\b(randomBytes|randomInt|randomUUID|randomFillSync|getRandomValues)\b/,
    homes: ['src/crypto/'],
    instead: 'the Random that is passed in',
  },
  { pattern: /\bprocess\.env\b/, homes: ['src/main.ts'], instead: 'the Config' },
  { pattern: /\bconsole\s*\.\s*[a-z]+\(/, homes: [], instead: 'the Log, or the tools of the command line' },
  {
    pattern: /\bprocess\.std(out|err)\b/,
    homes: ['src/http/log.ts'],
    instead: 'the Log, or the tools of the command line',
  },
  { pattern: /\bprocess\.exit(Code)?\b/, homes: ['src/main.ts'], instead: 'an error' },
  { pattern: /\b(eval|Function)\(/, homes: [], instead: 'code' },
];

interface Source {
  /** From the root of the repository, with slashes. */
  readonly path: string;
  readonly text: string;
  readonly imports: readonly Import[];
}

interface Import {
  readonly from: string;
  /** An import of types alone does not exist at run time. */
  readonly isType: boolean;
  readonly names: readonly string[];
}

const IMPORT = /(?:^|\n)(?:import|export)\s+(type\s+)?(?:([^'";]*?)\s+from\s+)?'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/g;

function importsOf(text: string): Import[] {
  return [...text.matchAll(IMPORT)].map(([, type, clause = '', from = '', lazily = '']) => {
    const inner = /\{([^}]*)\}/.exec(clause)?.[1] ?? '';
    const named = inner.split(',').map(
      (part) =>
        part
          .trim()
          .replace(/^type\s+/, '')
          .split(/\s+as\s+/)[0] ?? '',
    );
    // The names that a lazy import uses are not checked.
    const rest = clause.includes('*') || lazily !== undefined ? ['*'] : [];
    return {
      from: from || lazily,
      isType: type !== undefined,
      names: [...named.filter((name) => name !== ''), ...rest],
    };
  });
}

const read = (folder: string): Source[] =>
  globSync(folder.endsWith('.ts') ? folder : `${folder}/**/*.{ts,tsx}`, { cwd: ROOT, exclude: ['console/web/dist*'] })
    .sort()
    .map((path) => {
      const text = readFileSync(join(ROOT, path), 'utf8');
      return { path, text, imports: importsOf(text) };
    });

const isTest = ({ path }: Source): boolean => path.endsWith('.test.ts');
const all = ['src', 'console'].flatMap(read).filter(({ path }) => !path.startsWith('console/web/'));
const sources = all.filter((source) => !isTest(source));

const rankOf = (path: string): string => path.split('/').slice(0, 2).join('/').replace('.test.ts', '.ts');
const targetOf = (source: Source, from: string): string => relative(ROOT, resolve(ROOT, dirname(source.path), from));
/** Code without comments, each line in its place. */
const codeOf = (text: string): string =>
  text
    .replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ' '))
    .replace(/(^|[^:'"`\\])\/\/[^\n]*/g, '$1');

describe('architecture', () => {
  test('the sources are found, with their imports', () => {
    assert.ok(sources.length > 60, `${sources.length}`);
    const app = sources.find(({ path }) => path === 'src/app.ts');
    assert.ok(
      app?.imports.some(({ from, names }) => from === './http/server.ts' && names.includes('createBaseServer')),
    );
  });

  test('every file is in a folder of the list', () => {
    const places = new Set<string>(PLACES);
    assert.deepEqual(
      all.filter(({ path }) => !places.has(rankOf(path))).map(({ path }) => path),
      [],
    );
    assert.deepEqual(
      PLACES.filter((place) => !all.some(({ path }) => rankOf(path) === place)),
      [],
      'places without a file',
    );
  });

  test('a file imports only from its folder and from folders above it', () => {
    const rank = (path: string): number => (PLACES as readonly string[]).indexOf(rankOf(path));
    const wrong = sources.flatMap((source) =>
      source.imports
        .filter(({ from }) => from.startsWith('.'))
        .map(({ from }) => targetOf(source, from))
        .filter((target) => target.startsWith('..') || rank(target) > rank(source.path))
        .map((target) => `${source.path} imports ${target}`),
    );
    assert.deepEqual(wrong, []);
  });

  test('no two files import each other, directly or indirectly', () => {
    const graph = new Map(
      [...sources, ...read('console/web/src')].map((source) => [
        source.path,
        source.imports.filter(({ from }) => from.startsWith('.')).map(({ from }) => targetOf(source, from)),
      ]),
    );
    const done = new Set<string>();
    const visit = (path: string, trail: readonly string[]): void => {
      assert.ok(!trail.includes(path), [...trail, path].join(' -> '));
      if (done.has(path)) return;
      for (const next of graph.get(path) ?? []) visit(next, [...trail, path]);
      done.add(path);
    };
    for (const path of graph.keys()) visit(path, []);
  });

  test('the vault does not depend on the console: two files import its entry point, and nothing else', () => {
    const importers = sources
      .filter(({ path }) => path.startsWith('src/'))
      .flatMap((source) =>
        source.imports
          .filter(({ from }) => from.startsWith('.') && targetOf(source, from).startsWith('console/'))
          .map(({ from }) => `${source.path} imports ${targetOf(source, from)}`),
      );
    assert.deepEqual(
      importers.sort(),
      ['src/app.ts', 'src/main.ts'].map((path) => `${path} imports console/open.ts`),
    );
    const app = sources.find(({ path }) => path === 'src/app.ts');
    assert.ok(
      app?.imports.every(({ from, isType }) => isType || !from.includes('console/')),
      'only its types',
    );
  });

  test('the console imports only the listed parts of the vault', () => {
    const shared = [...SHARED_WITH_CONSOLE, ...Object.keys(SHARED_FURTHER)];
    const listed = new Set<string>();
    const wrong = sources
      .filter(({ path }) => path.startsWith('console/'))
      .flatMap((source) =>
        source.imports
          .map(({ from }) => (from.startsWith('.') ? targetOf(source, from) : ''))
          .filter((target) => target.startsWith('src/'))
          .filter((target) => {
            const entry = shared.find((each) => target === each || target.startsWith(`${each}/`));
            if (entry !== undefined) listed.add(entry);
            return entry === undefined;
          })
          .map((target) => `${source.path} imports ${target}`),
      );
    assert.deepEqual(wrong, []);
    assert.deepEqual(
      shared.filter((entry) => !listed.has(entry)),
      [],
      'entries that the console does not use',
    );
  });

  test('the console writes only to its own tables', () => {
    const written = sources
      .filter(({ path }) => path.startsWith('console/'))
      .flatMap(({ path, text }) =>
        [...codeOf(text).matchAll(/\b(?:insert into|delete from|update)\s+([a-z_]+)\s+(?:set\b|where\b|\()/g)].map(
          ([, table = '']) => ({ path, table }),
        ),
      );
    assert.ok(written.length >= 20, `${written.length}`);
    assert.deepEqual(
      written.filter(({ table }) => !CONSOLE_TABLES.has(table)),
      [],
    );
  });

  test('use cases commit only through the transaction', () => {
    const entryOf = (path: string): string | undefined =>
      Object.keys(COMMITTING).find((entry) => path === entry || (entry.endsWith('/') && path.startsWith(entry)));
    const committing = sources
      .filter(({ text }) => /\bcommitOrThrow\(|\.commit\(/.test(codeOf(text)))
      .map(({ path }) => path);
    assert.deepEqual(
      committing.filter((path) => entryOf(path) === undefined),
      [],
    );
    assert.deepEqual(
      Object.keys(COMMITTING).filter((entry) => !committing.some((path) => entryOf(path) === entry)),
      [],
      'entries that commit nothing',
    );
  });

  test('kernel imports only itself, not even Node', () => {
    const outside = sources
      .filter(({ path }) => rankOf(path) === 'src/kernel')
      .flatMap((source) =>
        source.imports
          .filter(({ from }) => !from.startsWith('.') || rankOf(targetOf(source, from)) !== 'src/kernel')
          .map(({ from }) => `${source.path} imports ${from}`),
      );
    assert.deepEqual(outside, []);
  });

  test('each library is imported in one place only', () => {
    const homes: readonly [RegExp, ...string[]][] = [
      [
        /^(@?fastify|fast-json-stringify|light-my-request|find-my-way)/,
        'src/http/',
        'console/server/assets.ts',
        'console/open.ts',
      ],
      [
        /^(node:)?https?$/,
        'src/http/',
        'src/payments/processors/outbound-http.ts',
        'src/audit/otlp.ts',
        'src/webhooks/send.ts',
      ],
      [/^(pino|prom-client)$/, 'src/http/'],
      [/^(node:)?sqlite$/, 'src/storage/sqlite/'],
      [/^nodemailer$/, 'console/alerts/smtp.ts'],
      [/^age-encryption$/, 'src/crypto/'],
      [/^commander$/, 'src/cli/', 'console/cli.ts'],
      [/^saxes$/, 'src/proxy/wssec/'],
      [/^(@simplewebauthn\/|@zxcvbn-ts\/|otpauth$)/, 'console/people/'],
    ];
    for (const [name, ...home] of homes) {
      const importers = sources.filter(({ imports }) => imports.some(({ from }) => name.test(from)));
      assert.ok(importers.length > 0, `${name}: no importer`);
      assert.deepEqual(
        importers
          .filter(({ path }) => !home.some((place) => path.startsWith(place)))
          .map(({ path }) => `${path}: ${name}`),
        [],
      );
    }
  });

  test('node:http is imported for its types alone', () => {
    // An import of its values, even by way of a list of types, loads the WebSocket client and fetch of Node: 80 ms of each start.
    const importers = sources.filter(({ imports }) =>
      imports.some(({ from, isType }) => from === 'node:http' && !isType),
    );
    assert.deepEqual(
      importers.map(({ path }) => path),
      [],
    );
  });

  test('the file of traces is loaded only where they are configured', () => {
    const importers = sources.flatMap(({ path, text, imports }) =>
      imports
        .filter(({ from, isType }) => !isType && from.endsWith('/traces.ts'))
        .map(({ from }) => `${path}${codeOf(text).includes(`await import('${from}')`) ? ', on demand' : ''}`),
    );
    assert.deepEqual(importers, ['src/node.ts, on demand']);
  });

  test('every package that is imported is a declared dependency, and every dependency is imported', () => {
    const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const declared = Object.keys(manifest.dependencies);
    const packageOf = (from: string): string =>
      from.startsWith('@') ? from.split('/').slice(0, 2).join('/') : (from.split('/')[0] ?? '');
    const imported = new Set(
      sources
        .flatMap(({ imports }) => imports.map(({ from }) => from))
        .filter((from) => !from.startsWith('.') && !from.startsWith('node:'))
        .map(packageOf),
    );
    assert.deepEqual([...imported].sort(), declared.sort());
  });

  describe('banned calls', () => {
    for (const { pattern, homes, instead } of BANNED) {
      test(`${pattern.source} is used ${homes.length === 0 ? 'nowhere' : `in ${homes.join(', ')} only`}: use ${instead}`, () => {
        const found = sources
          .filter(({ path }) => !homes.some((home) => path === home || (home.endsWith('/') && path.startsWith(home))))
          .flatMap(({ path, text }) =>
            codeOf(text)
              .split('\n')
              .flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
          );
        assert.deepEqual(found, []);
      });
    }

    test('the patterns find what they ban', () => {
      const samples = [
        'const now = Date.now();',
        'new Date()',
        'Date()',
        'performance.now()',
        'Math.random()',
        "import { randomBytes } from 'node:crypto';",
        "process.env['HOME']",
        'console.log(1)',
        'process.stdout.write(text)',
        'process.exitCode = 1',
        "eval('1')",
      ];
      assert.equal(samples.length, BANNED.length);
      for (const [index, sample] of samples.entries()) assert.match(codeOf(sample), BANNED[index]?.pattern ?? /^$/);
      assert.equal(codeOf('a(); // Date.now()\n/* console.log() */ b();').includes('Date.now'), false);
      assert.equal(codeOf("const url = 'https://x'; Date.now();").includes('Date.now'), true);
    });
  });

  test('no folder has a name without a subject', () => {
    const folders = new Set(all.flatMap(({ path }) => path.split('/').slice(0, -1)));
    assert.deepEqual(
      [...folders].filter((name) => /^(utils?|helpers?|common|types?|misc|shared|lib)$/i.test(name)),
      [],
    );
  });

  test('every export is used by another file', () => {
    const users = [...all, ...['test', 'bench', 'scripts', 'console/web'].flatMap(read)];
    const used = new Map<string, Set<string>>();
    for (const source of users) {
      for (const { from, names } of source.imports.filter((each) => each.from.startsWith('.'))) {
        const target = targetOf(source, from);
        const known = used.get(target) ?? new Set();
        for (const name of names) known.add(name);
        used.set(target, known);
      }
    }
    const DECLARED =
      /(?:^|\n)export\s+(?:async\s+)?(const|let|function\*?|class|interface|type|enum)\s+([A-Za-z0-9_$]+)/g;
    const unused = sources.flatMap(({ path, text }) =>
      [...text.matchAll(DECLARED)].flatMap(([, kind = '', name = '']) => {
        const isImported = used.get(path)?.has(name) === true || used.get(path)?.has('*') === true;
        // A type may be part of what its file exports.
        const isPart = /interface|type/.test(kind) && [...text.matchAll(new RegExp(`\\b${name}\\b`, 'g'))].length > 1;
        return isImported || isPart ? [] : [`${path}: ${name}`];
      }),
    );
    assert.deepEqual(unused, []);
    const others = sources.filter(({ text }) => /(^|\n)export\s+(default\b|\{|\*)/.test(text)).map(({ path }) => path);
    assert.deepEqual(others, [], 'exports that this test cannot see');
  });

  test('every endpoint file is in the array of endpoints', () => {
    const array = readFileSync(join(ROOT, 'src', 'http', 'endpoints.ts'), 'utf8');
    const files = sources.filter(
      ({ path, text }) => path.startsWith('src/http/endpoints/') && /\bdefineEndpoint\(/.test(text),
    );
    assert.ok(files.length >= 9);
    for (const { path, text } of files) {
      const names = [...text.matchAll(/export const (\w+) = defineEndpoint\(/g)].map(([, name = '']) => name);
      assert.ok(names.length > 0, `${path} exports none of its endpoints`);
      for (const name of names) {
        assert.match(array, new RegExp(`import \\{[^}]*\\b${name}\\b[^}]*\\} from './endpoints/${basename(path)}'`));
        assert.match(array.slice(array.indexOf('ENDPOINTS')), new RegExp(`\\n\\s+${name},`), name);
      }
    }
    const declared = files.flatMap(({ text }) => [...text.matchAll(/defineEndpoint\(/g)]).length;
    assert.equal(ENDPOINTS.length, declared);
    assert.equal(new Set(ENDPOINTS.map(({ method, path }) => `${method} ${path}`)).size, declared);
  });

  test('no file has an open task', () => {
    const openTask = new RegExp(['TO', 'DO|FIX', 'ME'].join(''));
    const files = globSync('{src,console,test,bench,scripts,bin,docs}/**/*.{ts,tsx,mjs,md,sql,css,html}', {
      cwd: ROOT,
      exclude: ['console/web/dist*'],
    });
    assert.ok(files.length > 80);
    const found = files.filter((path) => openTask.test(readFileSync(join(ROOT, path), 'utf8')));
    assert.deepEqual(found, []);
  });
});

describe('the console in the browser', () => {
  const pages = read('console/web/src');
  const filesOf = (source: Source): string[] =>
    source.imports
      .filter(({ from, isType }) => from.startsWith('.') && !isType)
      .map(({ from }) => targetOf(source, from));

  test('shares with the service only what needs neither Node nor a package', () => {
    const byPath = new Map(sources.map((source) => [source.path, source]));
    const shared = new Set<string>();
    const visit = (path: string): void => {
      const source = byPath.get(path);
      if (source === undefined || shared.has(path)) return;
      shared.add(path);
      for (const next of filesOf(source)) visit(next);
    };
    for (const source of pages) for (const path of filesOf(source)) visit(path);
    assert.ok(shared.size > 0);
    const outside = [...shared].flatMap((path) =>
      (byPath.get(path)?.imports ?? [])
        .filter(({ from, isType }) => !from.startsWith('.') && !isType)
        .map(({ from }) => `${path} imports ${from}`),
    );
    assert.deepEqual(outside, []);
  });

  test('is made of declared packages, none of which the service loads', () => {
    const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const foreign = pages
      .flatMap(({ path, imports }) => imports.map(({ from }) => ({ path, from })))
      .filter(({ from }) => !from.startsWith('.'))
      .filter(({ from }) => !Object.keys(devDependencies).some((name) => from === name || from.startsWith(`${name}/`)));
    assert.deepEqual(foreign, []);
  });

  test('creates no markup from text, runs no text, and uses no random numbers', () => {
    const banned =
      /\b(dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval|Function\(|Math\.random)/;
    const found = pages.flatMap(({ path, text }) =>
      codeOf(text)
        .split('\n')
        .flatMap((line, index) => (banned.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
    );
    assert.deepEqual(found, []);
  });
});
