import assert from 'node:assert/strict';
import { existsSync, globSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import {
  findDeadLink,
  listAnchors,
  listLocalLinks,
  listReachedDocuments,
  resolveTarget,
} from '../scripts/docs-site/documents.ts';
import { assignRoles, ROLES, readNavigation } from '../scripts/docs-site/roles.ts';
import { SETTINGS } from '../src/config.ts';
import { createPayment } from '../src/http/endpoints/create-payment.ts';
import { ENDPOINTS } from '../src/http/endpoints.ts';
import type { JsonSchema } from '../src/http/fields.ts';
import { paymentResponse } from '../src/http/payment-response.ts';
import { PROBLEMS } from '../src/http/problems.ts';
import { FAILURES, type FailureCode } from '../src/kernel/failure.ts';
import { createProcessors } from '../src/payments/processors.ts';
import { COMMON_SETTINGS, type SettingTable } from '../src/payments/settings.ts';
import { REASONS, RESPONSE_CODES, STATUSES, TRANSITIONS } from '../src/payments/transitions.ts';
import { FOLLOWED_PAGES } from './fixtures/followed-pages.ts';
import { listMetrics } from './fixtures/metric-names.ts';

const root = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const documents = [
  'README.md',
  'CHANGELOG.md',
  'SECURITY.md',
  'sdk/README.md',
  ...globSync('docs/**/*.md', { cwd: root }),
].sort();

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

describe('docs/console', () => {
  const pictures = globSync('docs/console/*', { cwd: root });
  const texts = ['docs/console.md', 'README.md'].map(read).join('\n');

  test('has pictures that a document shows, and no others', () => {
    assert.ok(pictures.length > 20);
    assert.deepEqual(
      pictures.filter((path) => !texts.includes(path.slice('docs/'.length))),
      [],
    );
  });

  test('is small', () => {
    const bytes = pictures.map((path) => statSync(join(root, path)).size);
    assert.ok(bytes.reduce((sum, size) => sum + size, 0) < 2_000_000);
  });
});

describe('docs/operations.md', () => {
  for (const [name, { fallback }] of Object.entries(SETTINGS)) {
    test(`has ${name} with its default`, () => {
      assert.equal(row('docs/operations.md', name)[1], fallback === '' ? 'empty' : `\`${fallback}\``);
    });
  }

  test('mentions no setting that does not exist', () => {
    for (const path of documents) {
      for (const [name] of read(path).matchAll(/\bCARDVAULT_[A-Z0-9_]*[A-Z0-9]\b/g)) {
        assert.ok(Object.hasOwn(SETTINGS, name), `${path}: ${name}`);
      }
    }
  });

  test('has every metric, and none that does not exist', async () => {
    const names = (await listMetrics()).map(({ name }) => name);
    const text = read('docs/operations.md');
    for (const name of names) assert.ok(text.includes(`\`${name}\``), name);
    // Elsewhere some metrics of the process do not exist.
    if (process.platform === 'linux') {
      for (const [, name = ''] of text.matchAll(/`(cardvault_[a-z0-9_]+)`/g)) assert.ok(names.includes(name), name);
    }
  });

  test('has every host of outgoing connections', () => {
    const sources = globSync('src/payments/processors/**/*.ts', { cwd: root, exclude: ['**/*.test.ts'] }).map(read);
    const hosts = sources.flatMap((source) => [...source.matchAll(/'https:\/\/([a-z0-9.-]+)/g)]);
    assert.ok(hosts.length > 0);
    const text = read('docs/operations.md');
    for (const [, host] of hosts) assert.ok(text.includes(`\`${host}\``), host);
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

/** The settings of an account's payments. */
describe('settings of payments', () => {
  const processors = Object.entries(processorsByName());

  for (const [name, { defaultValue: fallback }] of Object.entries<SettingTable[string]>(COMMON_SETTINGS)) {
    test(`docs/operations.md has ${name} with its default`, () => {
      assert.equal(row('docs/operations.md', name)[1], `\`${fallback}\``);
    });
  }

  for (const [processor, { settings }] of processors) {
    const page = `docs/processors/${processor}.md`;
    for (const [name, { defaultValue: fallback, required }] of Object.entries(settings)) {
      if (Object.hasOwn(COMMON_SETTINGS, name)) {
        test(`docs/operations.md has the default that ${processor} has for ${name}`, () => {
          assert.ok(row('docs/operations.md', name)[2]?.includes(`${processor}: \`${fallback}\``));
        });
      } else {
        test(`${page} has ${name}`, () => {
          const [, shown = ''] = row(page, name);
          if (required) assert.equal(shown, 'required');
          else if (fallback !== undefined) assert.equal(shown, `\`${fallback}\``);
        });
      }
    }

    test(`${page} is linked in docs/operations.md`, () => {
      assert.match(read('docs/operations.md'), new RegExp(`\\(processors/${processor}\\.md[#)]`));
    });
  }
});

describe('docs/guides/payments.md', () => {
  const path = 'docs/guides/payments.md';
  const guide = read(path);
  const put = (text: string): string => `${path} has to hold this, as src/payments/transitions.ts has it:\n${text}\n`;

  test('has the diagram of the transition table', () => {
    const [, shown] = /^```mermaid\n([\s\S]*?)^```$/m.exec(guide) ?? [];
    const ends = STATUSES.filter((status) => !TRANSITIONS.some(({ from }) => from === status));
    const diagram = [
      'stateDiagram-v2',
      ...TRANSITIONS.map(({ from, to, by }) => `    ${from === 'new' ? '[*]' : from} --> ${to}: ${by.join(', ')}`),
      ...ends.map((status) => `    ${status} --> [*]`),
    ].join('\n');
    assert.equal(shown, `${diagram}\n`, put(diagram));
  });

  test('has the transition table', () => {
    const rows = TRANSITIONS.map(({ from, to, by }) => `| ${from} | ${to} | ${by.join(', ')} |`).join('\n');
    assert.ok(guide.includes(`\n| From | To | Why |\n|---|---|---|\n${rows}\n\n`), put(rows));
  });

  test('has every status', () => {
    for (const status of STATUSES) assert.match(guide, new RegExp(`^\\| ${status} \\| [A-Z]`, 'm'), status);
  });

  for (const [status, reasons] of Object.entries(REASONS)) {
    for (const reason of reasons) {
      test(`has ${reason} with its status and code`, () => {
        assert.deepEqual(row(path, reason).slice(1, 3), [status, `\`${RESPONSE_CODES[reason]}\``]);
      });
    }
  }

  test('has every field of a request', () => {
    const names = namesIn((createPayment.body as { schema: JsonSchema }).schema);
    assert.ok(names.includes('fingerprint_session_id'));
    for (const name of names) assert.match(guide, new RegExp(`\`([a-z_]*\\.)*${name}[.\`]`), name);
  });

  test('has every member of a response', () => {
    for (const name of namesIn(paymentResponse.schema))
      assert.match(guide, new RegExp(`\`([a-z_]*\\.)*${name}[.\`]`), name);
  });

  test('has the amounts of the simulator', () => {
    const rules = [...read('docs/processors/simulator.md').matchAll(/^\| 5 \| amount (.*)$/gm)];
    assert.ok(rules.length > 0);
    const rows = rules.map(([, rule = '']) => `| ${rule}`).join('\n');
    const heading = '| Amount | Authorization, payment |\n|---|---|\n';
    assert.ok(guide.includes(`${heading}${rows}\n\n`), `${path} has to hold this:\n${rows}`);
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

  test('states which responses are not stored', () => {
    for (const code of Object.keys(FAILURES) as FailureCode[]) {
      const { status, isTransient: passing } = PROBLEMS[code];
      if (status !== 400 || passing === true) assert.match(row('docs/errors.md', code)[4] ?? '', /^no\b/, code);
    }
  });
});

describe('docs/audit-log.md', () => {
  const source = /AUDIT_ACTIONS = \[([^\]]*)\]/.exec(read('src/audit/audit.ts'))?.[1] ?? '';
  const actions = [...source.matchAll(/'([a-z.-]+)'/g)].map(([, action = '']) => action);

  test('is compared with a list of actions', () => assert.ok(actions.length > 0));

  for (const action of actions) {
    test(`has ${action}`, () => assert.equal(row('docs/audit-log.md', action).length, 4));
  }

  test('has only actions that are recorded', () => {
    const sources = globSync(['src/**/*.ts', 'console/{people,approvals,server,wire}/**/*.ts'], { cwd: root }).filter(
      (path) => path !== join('src', 'audit', 'audit.ts'),
    );
    const text = sources.map(read).join('\n');
    assert.deepEqual(
      actions.filter((action) => !text.includes(`'${action}'`)),
      [],
    );
  });

  test('has no action that does not exist', () => {
    for (const [, action = ''] of read('docs/audit-log.md').matchAll(/^\| `([a-z-]+\.[a-z-]+)` \|/gm)) {
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
  test('creates a payment as the guide does, with the same commands', () => {
    const [, section = ''] = read('README.md').split('\n## Take a payment\n');
    const commands = [...(section.split('\n## ')[0] ?? '').matchAll(/^ {4}(npx|curl) .*(?:\n {6,}.*)*/gm)];
    assert.equal(commands.length, 2);
    for (const [command] of commands)
      assert.ok(read('docs/guides/payments.md').includes(`\n${command.replace(/^ {4}/gm, '')}\n`), command);
  });

  test('has the two commands below the first paragraph, and at most 150 lines', () => {
    const text = read('README.md');
    assert.ok(text.trimEnd().split('\n').length <= 150);
    const [title, paragraph = '', heading, ...parts] = text.split('\n\n');
    assert.deepEqual([title, heading], ['# cardvault', '## Run it']);
    assert.match(paragraph, /^cardvault is /);
    assert.deepEqual([parts[1], parts[3]], ['    npm ci && npm start', '    npm ci && npm test']);
    assert.ok(text.indexOf(parts[3] ?? '') < text.split('\n').slice(0, 20).join('\n').length);
  });
});

describe('every document', () => {
  for (const path of documents) {
    test(`${path} refers to files that exist`, () => {
      const text = read(path);
      for (const [, named = ''] of text.matchAll(/`((?:src|test|docs|bin|bench)\/[^`\s]*)`/g)) {
        // NAME stands for a processor that is yet to be written.
        assert.ok(named.includes('NAME') || existsSync(join(root, named)), named);
      }
      for (const link of listLocalLinks(path, text)) assert.equal(findDeadLink(root, link), undefined, link.written);
    });

    test(`${path} contains no machine and no registry`, () => {
      const found =
        /\/(?:work|tmp|root|home|Users)\/|registry\.|npmjs|\.\.\/shared|localhost:(?!844[3456]\b)[0-9]/.exec(
          read(path),
        );
      assert.equal(found?.[0], undefined);
    });
  }

  test('is reached by links from README.md', () => {
    const reached = listReachedDocuments(root, (folder) => readdirSync(join(root, folder)));
    assert.deepEqual(
      documents.filter((path) => !reached.includes(path)),
      [],
    );
  });

  test('has only blocks marked sh that a test runs', () => {
    const marked = documents.filter((path) => /^ *```sh$/m.test(read(path)));
    assert.deepEqual(
      marked.filter((path) => !FOLLOWED_PAGES.some((page) => page === path)),
      [],
      'mark what no test can run as console',
    );
  });
});

describe('links of documents', () => {
  const link = (written: string): string | undefined => {
    const found = resolveTarget('docs/guides/tokens.md', written);
    return found === undefined ? undefined : findDeadLink(root, found);
  };

  test('are dead when the file, the heading or the folder does not exist', () => {
    assert.equal(link('../errors.md#codes'), undefined);
    assert.equal(link('#idempotent-retries'), undefined);
    assert.equal(link('../decisions/'), undefined);
    assert.equal(link('https://www.example.com/nothing'), undefined);
    assert.equal(link('../errors.md#no-such-heading'), 'no such heading');
    assert.equal(link('errors.md'), 'no such file');
    assert.equal(link('../../../elsewhere.md'), 'leads out of the project');
    assert.equal(link('../../LICENSE#top'), 'an anchor of a file that has none');
  });

  test('are found outside code, and headings too, with a number when they are repeated', () => {
    const text = '# A `b`\n\n[c](d.md#e) `[f](g.md)`\n\n```sh\n# h\n[i](j.md)\n```\n\n## [k](l.md)\n\n## K\n';
    assert.deepEqual(
      listLocalLinks('docs/m.md', text).map(({ path }) => path),
      ['docs/d.md', 'docs/l.md'],
    );
    assert.deepEqual(listAnchors(text), ['a-b', 'k', 'k-1']);
  });
});

describe('the page of each role', () => {
  for (const role of ROLES) {
    test(`${role.document} is linked in README.md and leads to sections of pages`, () => {
      assert.ok(read('README.md').includes(`(${role.document})`));
      const navigation = readNavigation(root, role);
      assert.ok(navigation.length >= 4);
      for (const { heading, links } of navigation) assert.ok(links.length > 0, heading);
    });
  }

  test('leads to every document', () => {
    const roles = assignRoles(root, documents);
    assert.deepEqual(
      documents.filter((document) => !roles.has(document)),
      [],
    );
  });
});

function processorsByName(): Readonly<Record<string, { readonly settings: SettingTable }>> {
  const unused = undefined as never;
  const { byName, close } = createProcessors({ database: unused, clock: () => 0, random: unused, hosts: unused });
  close();
  return byName;
}

/** The names of all members that a schema has, at any depth. */
function namesIn(schema: JsonSchema): string[] {
  const properties = (schema['properties'] ?? {}) as Readonly<Record<string, JsonSchema>>;
  return Object.entries(properties).flatMap(([name, member]) => [name, ...namesIn(member)]);
}
