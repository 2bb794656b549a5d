import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ROLE_NAMES } from '../console/people/roles.ts';
import { FINDINGS } from '../console/server/health.ts';
import { routes } from '../console/server/routes.ts';
import { en } from '../console/web/src/text/en.ts';
import { es } from '../console/web/src/text/es.ts';
import { expectedIn, faultIn, placeIn, refusalIn } from '../console/web/src/text/refusals.ts';
import { listServiceAudit } from '../console/wire/audit.ts';
import { RESTRICTED_ACTIONS } from '../src/accounts/change-control.ts';
import { PERMISSIONS } from '../src/accounts/permission.ts';
import { AUDIT_ACTIONS } from '../src/audit/audit.ts';
import { systemRandom } from '../src/crypto/random.ts';
import { FAILURES } from '../src/kernel/failure.ts';
import { ProcessorHosts } from '../src/payments/processor-hosts.ts';
import { createProcessors } from '../src/payments/processors.ts';
import { COMMON_SETTINGS, listSettings as settingsOf } from '../src/payments/settings.ts';
import { REASONS, STATUSES } from '../src/payments/transitions.ts';
import { listSettings as settingsOfProxy } from '../src/proxy/settings.ts';

/** Whatever the service tells has words in every language of the console. */

type Texts = { readonly [key: string]: string | Texts };

const leavesOf = (texts: Texts, path = ''): [string, string][] =>
  Object.entries(texts).flatMap(([key, text]) =>
    typeof text === 'string' ? [[`${path}${key}`, text] as [string, string]] : leavesOf(text, `${path}${key}.`),
  );

const holesOf = (text: string): string[] => [...text.matchAll(/\{\{(\w+)\}\}/g)].map(([, name = '']) => name).sort();

const PLURAL = /_(?:one|other)$/;

const [ENGLISH, SPANISH] = [new Map(leavesOf(en)), new Map(leavesOf(es))];

/** With a text of its own in both languages, or one for each plural. */
const isSaid = (key: string): boolean =>
  [ENGLISH, SPANISH].every((texts) => texts.has(key) || ['_one', '_other'].every((plural) => texts.has(key + plural)));

const missing = (keys: readonly string[]): string[] => {
  assert.ok(keys.length > 0);
  return keys.filter((key) => !isSaid(key));
};

describe('the texts of the console', () => {
  it('are the same in every language, with the same places for values', () => {
    assert.deepEqual([...SPANISH.keys()].sort(), [...ENGLISH.keys()].sort());
    const other = [...ENGLISH].filter(
      ([key, text]) => !PLURAL.test(key) && `${holesOf(text)}` !== `${holesOf(SPANISH.get(key) ?? '')}`,
    );
    assert.deepEqual(other, []);
  });

  it('come as one and as many, wherever they come as one of both', () => {
    const plurals = [...ENGLISH.keys()].filter((key) => PLURAL.test(key)).map((key) => key.replace(PLURAL, ''));
    assert.deepEqual(missing(plurals), []);
  });

  it('are never empty, and have no blanks at their ends', () => {
    for (const texts of [ENGLISH, SPANISH])
      for (const [key, text] of texts) assert.ok(text !== '' && text.trim() === text, key);
  });
});

describe('what the service tells as a word has a text', () => {
  const processors = Object.entries(
    createProcessors({
      database: undefined as never,
      clock: Date.now,
      random: systemRandom(),
      hosts: new ProcessorHosts(),
    }).byName,
  );

  for (const [what, keys] of [
    ['every failure', Object.keys(FAILURES).map((code) => `errors.${code}`)],
    ['every finding of health', Object.keys(FINDINGS).map((finding) => `health.findings.${finding}`)],
    ['what each finding is about', Object.keys(FINDINGS).map((finding) => `health.about.${finding.split('-')[0]}`)],
    ['every action of the audit log', AUDIT_ACTIONS.map((action) => `audit.actions.${action}`)],
    ['every permission', PERMISSIONS.map((permission) => `keys.permission.${permission.replace(':', '_')}`)],
    ['every role', ROLE_NAMES.map((role) => `team.role.${role}`)],
    [
      'every change that takes two people',
      routes.flatMap(({ definition: { dualControl } }) =>
        dualControl === undefined ? [] : [`approvals.action.${dualControl}`],
      ),
    ],
    [
      'every change of an operator that takes two people',
      RESTRICTED_ACTIONS.map((action) => `approvals.action.${action}`),
    ],
    ['every status of a payment', STATUSES.map((status) => `status.${status}`)],
    [
      'every reason of a payment',
      Object.values(REASONS).flatMap((words) => words.map((word) => `payments.reason.${word}`)),
    ],
    ['every setting of all processors', Object.keys(COMMON_SETTINGS).map((name) => `processors.about.common.${name}`)],
    [
      'every setting of one processor',
      processors.flatMap(([processor, { settings }]) =>
        Object.keys(settings)
          .filter((name) => !Object.hasOwn(COMMON_SETTINGS, name))
          .map((name) => `processors.about.${processor}.${name}`),
      ),
    ],
    ['every setting of the proxy', settingsOfProxy({}).map(({ name }) => `proxy.settings.about.${name}`)],
  ] as const)
    it(what, () => assert.deepEqual(missing(keys), []));

  it('what each setting of a processor can be', () => {
    const tables = [COMMON_SETTINGS, ...processors.map(([, { settings }]) => settings)];
    const all = tables.flatMap((table) => settingsOf(table, {}));
    assert.ok(all.length > 10);
    assert.deepEqual(
      all.filter(({ expected }) => expectedIn(expected) === undefined),
      [],
    );
  });

  it('what each setting of the proxy can be', () => {
    const expected = settingsOfProxy({}).map((setting) => setting.expected);
    assert.deepEqual(
      expected.filter((text) => expectedIn(text) === undefined),
      [],
    );
  });
});

describe('what the audit log tells as a word has a text', () => {
  const rows = readFileSync(join(import.meta.dirname, '..', 'docs', 'audit-log.md'), 'utf8')
    .split('\n')
    .filter((line) => /^\| `[a-z-]+\.[a-z-]+` \|/.test(line))
    .map((line) => line.split(' | '));
  const quoted = (text: string): string[] => [...text.matchAll(/`([\w-]+)`/g)].map(([, word = '']) => word);
  const details = rows.map(([, , , text = '']) => text);
  const namesIn = (text: string): string[] => [...text.matchAll(/`detail\.(\w+)`/g)].map(([, name = '']) => name);
  /** In brackets behind the name of a detail. */
  const wordsOf = (name: string): string[] =>
    details.flatMap((text) => quoted(new RegExp(`\`(?:detail\\.)?${name}\` \\(([^)]*)\\)`).exec(text)?.[1] ?? ''));

  const filterNames = Object.keys(listServiceAudit.body?.schema['properties'] ?? {}).filter(
    (name) => name !== 'cursor',
  );

  it('every outcome', () => {
    const outcomes = new Set(rows.flatMap(([, , text = '']) => quoted(text)));
    assert.ok(outcomes.size > 20, [...outcomes].join());
    assert.deepEqual(missing([...outcomes].map((outcome) => `audit.outcomes.${outcome}`)), []);
  });

  it('every name of a detail', () => {
    const ofKeys = ['name', 'prefix', 'permissions', 'allow_list'];
    const ofProxies = ['processor_public_key', 'merchant_private_key', 'merchant_certificate'];
    const others = [
      'changed',
      'successor',
      'overlap_minutes',
      'processor',
      'settings',
      'old_values',
      'new_values',
      'forced',
    ];
    const bare = [...ofProxies, ...others];
    assert.deepEqual(
      bare.filter((name) => !details.some((text) => quoted(text).includes(name))),
      [],
    );
    const names = [...new Set([...details.flatMap(namesIn), ...bare, ...ofKeys])];
    assert.ok(names.length > 20, names.join());
    assert.deepEqual(missing(names.map((name) => `audit.details.${name}`)), []);
  });

  for (const [name, place] of [
    ['use', 'audit.values.use'],
    ['kind', 'audit.values.kind'],
    ['factor', 'audit.values.factor'],
    ['forced', 'audit.values.answer'],
    ['dual_control', 'audit.values.answer'],
    ['altered', 'audit.values.answer'],
    ['operation', 'payments.operation'],
  ] as const)
    it(`every word of "${name}"`, () => assert.deepEqual(missing(wordsOf(name).map((word) => `${place}.${word}`)), []));

  it('every filter that somebody looked by', () =>
    assert.deepEqual(missing(filterNames.map((name) => `audit.filters.${name}`)), []));
});

describe('what the service tells as a sentence has a text', () => {
  const ROOT = join(import.meta.dirname, '..');
  /** Of the command line, of the start, of payloads, and of requests of merchants; the console meets none of it. */
  const ELSEWHERE =
    /^src\/(?:cli\/|accounts\/change-control|audit\/recorded-heads|config|core|main|app|storage\/(?:sqlite|postgres|copy|row-pages|migrat|open|group|database)|crypto\/(?:custody|group-access|secret-file|keyring|seal)|placeholders\/|proxy\/(?:jose|wssec|proxy)|payments\/(?:manual-resolution|card-source|processors\/)|http\/(?!fields\.ts))/;
  const files = globSync(['src/**/*.ts', 'console/{approvals,people,server,wire}/**/*.ts'], {
    cwd: ROOT,
    exclude: ['**/*.test.ts'],
  }).filter((path) => !ELSEWHERE.test(path));
  const sources = files.map((path) => ({ path, text: withoutComments(readFileSync(join(ROOT, path), 'utf8')) }));
  const constants = new Map(
    sources.flatMap(({ text }) =>
      [...text.matchAll(/\bconst ([A-Z_]+) =\s+(['"`])((?:(?!\2)[^\\]|\\.)*)\2/g)].map(
        ([, name = '', , value = '']) => [name, value] as const,
      ),
    ),
  );

  it('every refusal in the sources', () => {
    const found = sources.flatMap(({ path, text }) => refusalsIn(text, constants).map((said) => ({ path, said })));
    assert.ok(found.length > 80, `${found.length} found`);
    const unknown = found.filter(({ said }) => refusalIn(said) === undefined);
    assert.deepEqual(unknown, []);
  });

  it('every fault of the audit log, and where it lies', () => {
    const source = withoutComments(readFileSync(join(ROOT, 'src/audit/verify-journal.ts'), 'utf8'));
    const faults = [...source.matchAll(/\bnew Fault\(/g)].map(({ index, 0: name }) =>
      withValues(literalsIn(parenthesized(source.slice(index + name.length))).join()),
    );
    assert.ok(faults.length > 12, `${faults.length} found`);
    assert.deepEqual(
      faults.filter((fault) => faultIn(fault) === undefined),
      [],
    );
    for (const account of ['', 'account acc_1, ', 'an account that is none, '])
      for (const record of ['', ', record 12']) assert.notEqual(placeIn(`${account}lane 1${record}`), undefined);
    const found = faultIn('account acc_1, lane 1: 4 records, of which the head seals 3');
    assert.deepEqual(found, { key: 'unsealed', values: { place: 'account acc_1, lane 1', records: '4', sealed: '3' } });
    const place = placeIn('account acc_1, lane 1, record 12');
    assert.deepEqual(place, { key: 'recordOf', values: { account: 'acc_1', lane: '1', record: '12' } });
  });

  it('with the values that it holds', () => {
    const found = refusalIn('expected an RSA key of 2048 to 16384 bits, this one has 1024');
    assert.deepEqual(found, { key: 'keyBits', values: { min: '2048', max: '16384', bits: '1024' } });
    const setting = refusalIn('timeout-ms: expected a whole number of 50 to 300000');
    assert.deepEqual(setting?.values, { name: 'timeout-ms', expected: 'a whole number of 50 to 300000' });
    assert.equal(expectedIn(setting?.values['expected'] ?? '')?.key, 'wholeNumber');
    assert.equal(refusalIn('something that nobody says'), undefined);
  });
});

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
}

const THROWN = /\b(?:invalid|refused|Mismatch|[A-Z]\w*(?:Failure|Error|Fault)|Failure)\(/g;
/** Texts of which a value is a word: what they say with each. */
const WITH_WORDS: Readonly<Record<string, readonly string[]>> = {
  'This is the last 7; make somebody else one first.': ['owner', 'operator'].map(
    (role) => `This is the last ${role}; make somebody else one first.`,
  ),
  'expected 7': ['a token', 'a tag', '6 or 8 digits', '4 digits', 'production, sandbox, none'].map(
    (words) => `expected ${words}`,
  ),
  // What stands before the text of another failure, and is taken away.
  '7: ': [],
};
const CODES_THAT_SAY_ENOUGH = Object.keys(FAILURES).filter((code) => !['invalid_field', 'not_possible'].includes(code));

/** Each text that a failure or an error for operators is made with, a value standing for what differs. */
function refusalsIn(text: string, constants: ReadonlyMap<string, string>): string[] {
  return [...text.matchAll(THROWN)].flatMap(({ index, 0: name }) => {
    const inside = parenthesized(text.slice(index + name.length));
    const literals = literalsIn(inside);
    const named = [...inside.matchAll(/\b([A-Z_]{4,})\b/g)].map(([, constant = '']) => constants.get(constant) ?? '');
    if (literals.some((literal) => CODES_THAT_SAY_ENOUGH.includes(literal))) return [];
    const said = [...literals, ...named].filter((each) => / /.test(each)).map(withValues);
    return said.flatMap((each) => WITH_WORDS[each] ?? each);
  });
}

/** Those that are joined by a plus are one. */
function literalsIn(code: string): string[] {
  const literals: string[] = [];
  let end = -1;
  for (const { index, 0: whole, 2: said = '' } of code.matchAll(/(['"`])((?:(?!\1)[^\\]|\\.)*)\1/g)) {
    const isJoined = end >= 0 && code.slice(end, index).trim() === '+';
    literals.push(isJoined ? `${literals.pop()}${said}` : said);
    end = index + whole.length;
  }
  return literals;
}

const withValues = (template: string): string => template.replace(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, '7');

/** Up to where what was opened is closed. */
function parenthesized(text: string): string {
  let depth = 1;
  for (const [index, character] of [...text].entries()) {
    if (character === '(') depth++;
    if (character === ')' && --depth === 0) return [...text].slice(0, index).join('');
  }
  return text;
}
