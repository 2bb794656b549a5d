import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { ROLE_NAMES } from '../console/people/roles.ts';
import { routes } from '../console/server/routes.ts';
import { en } from '../console/web/src/text/en.ts';
import { es } from '../console/web/src/text/es.ts';
import { joinPeriods } from '../console/web/src/text/join-periods.ts';
import { listServiceAudit } from '../console/wire/audit.ts';
import { FINDINGS } from '../console/wire/operator.ts';
import { RESTRICTED_ACTIONS } from '../src/accounts/change-control.ts';
import { PERMISSIONS } from '../src/accounts/permission.ts';
import { AUDIT_ACTIONS } from '../src/audit/audit.ts';
import { FAILURES } from '../src/kernel/failure.ts';
import { CYBERSOURCE_SETTINGS } from '../src/payments/processors/cybersource/client.ts';
import { KOIN_SETTINGS } from '../src/payments/processors/koin/client.ts';
import { COMMON_SETTINGS } from '../src/payments/settings.ts';
import { REASONS, STATUSES } from '../src/payments/transitions.ts';
import { SETTING_NAMES, listSettings as settingsOfProxy } from '../src/proxy/settings.ts';

/** Whatever the service tells has words in every language of the console. */

type Texts = { readonly [key: string]: string | Texts };

const leavesOf = (texts: Texts, path = ''): [string, string][] =>
  Object.entries(texts).flatMap(([key, text]) =>
    typeof text === 'string' ? [[`${path}${key}`, text] as [string, string]] : leavesOf(text, `${path}${key}.`),
  );

const holesOf = (text: string): string[] => [...text.matchAll(/\{+(\w+)\}+/g)].map(([, name = '']) => name).sort();

const PLURAL = /_(?:one|other)$/;

const [ENGLISH, SPANISH] = [new Map(leavesOf(en)), new Map(leavesOf(es))];

/** With a text of its own in both languages, or one for each plural. */
const isSaid = (key: string): boolean =>
  [ENGLISH, SPANISH].every((texts) => texts.has(key) || ['_one', '_other'].every((plural) => texts.has(key + plural)));

const missing = (keys: readonly string[]): string[] => {
  assert.ok(keys.length > 0);
  return keys.filter((key) => !isSaid(key));
};

describe('a sentence that ends with a Spanish time', () => {
  it('has one period', () => {
    const format = new Intl.DateTimeFormat('es-CO', { hour: 'numeric', minute: '2-digit', timeZone: 'UTC' });
    const time = format.format(Date.parse('2026-11-22T01:18:00Z'));
    assert.match(time, /m\.$/);
    assert.equal(joinPeriods(`El enlace vence el ${time}.`), `El enlace vence el ${time}`);
    assert.equal(joinPeriods(`Vence el ${time}. Después no funciona.`), `Vence el ${time} Después no funciona.`);
    assert.equal(joinPeriods('Vence a la 1:18.'), 'Vence a la 1:18.');
  });
});

describe('the texts of the console', () => {
  it('are the same in every language, with the same placeholders', () => {
    assert.deepEqual([...SPANISH.keys()].sort(), [...ENGLISH.keys()].sort());
    const other = [...ENGLISH].filter(
      ([key, text]) => !PLURAL.test(key) && `${holesOf(text)}` !== `${holesOf(SPANISH.get(key) ?? '')}`,
    );
    assert.deepEqual(other, []);
  });

  it('have singular and plural, wherever they have one of both', () => {
    const plurals = [...ENGLISH.keys()].filter((key) => PLURAL.test(key)).map((key) => key.replace(PLURAL, ''));
    assert.deepEqual(missing(plurals), []);
  });

  it('are never empty, and have no leading or trailing blanks', () => {
    for (const texts of [ENGLISH, SPANISH])
      for (const [key, text] of texts) assert.ok(text !== '' && text.trim() === text, key);
  });
});

/** Texts that the service names: codes of failures, reasons, and values of the wire. */
const NAMED_BY_SERVICE: readonly string[] = ['errors', 'reasons', 'settingNames', 'status'];

const PROCESSOR_SETTINGS = new Set(
  [COMMON_SETTINGS, CYBERSOURCE_SETTINGS, KOIN_SETTINGS].flatMap((table) => Object.keys(table)),
);

const WEB = join(import.meta.dirname, '..', 'console', 'web', 'src');
const sources = globSync('**/*.{ts,tsx}', { cwd: WEB })
  .filter((path) => !/^text.e[ns]\b/.test(path))
  .map((path) => ({ folder: dirname(path), text: readFileSync(join(WEB, path), 'utf8') }));

const readsTexts = (text: string): boolean => /useTranslation\(|i18n/.test(text);

const readsNamespace = (text: string, namespace: string): boolean =>
  text.includes(`useTranslation('${namespace}')`) ||
  new RegExp(`['\`]${namespace}:`).test(text) ||
  (namespace === 'shell' && text.includes('useTranslation()'));

const escapePattern = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Returns the keys that a source can name: by literals, and by templates, whose values are any text. */
function listNames(source: string): { literals: string[]; templates: RegExp[] } {
  const literals = [...source.matchAll(/'([\w:.-]+)'/g)].map(([, text = '']) => text);
  const templates = [...source.matchAll(/`((?:[\w:.-]|\$\{[^}]*\})+)`/g)]
    .map(([, text = '']) => text.split(/\$\{[^}]*\}/))
    .filter((parts) => /[a-z]/i.test(parts.join('')))
    .map((parts) => new RegExp(`^${parts.map(escapePattern).join('[\\w.-]+')}$`));
  return { literals, templates };
}

/** Returns the keys that no page names. A page that reads an object of texts uses all of them. */
function listUnusedKeys(namespace: string): string[] {
  const readers = sources.filter(({ text }) => readsNamespace(text, namespace));
  const folders = new Set([...readers.map(({ folder }) => folder), 'parts', 'session', 'api']);
  const namers = sources.filter(({ folder, text }) => folders.has(folder) && !readsTexts(text));
  const names = [...readers, ...namers].map(({ text }) => listNames(text));
  const literals = new Set(names.flatMap((each) => each.literals));
  const templates = names.flatMap((each) => each.templates);
  const isNamed = (key: string): boolean => literals.has(key) || templates.some((template) => template.test(key));
  const objects = readers.flatMap(({ text }) =>
    [...text.matchAll(/t\('([\w.]+)', \{ returnObjects/g)].map(([, key = '']) => `${key}.`),
  );
  return leavesOf((en as Texts)[namespace] as Texts)
    .map(([key]) => key)
    .filter((key) => !objects.some((beginning) => key.startsWith(beginning)))
    .filter((key) => ![key, `${namespace}:${key}`].some((each) => isNamed(each.replace(PLURAL, ''))));
}

describe('every text is used', () => {
  const web = sources.map(({ text }) => text).join('\n');

  for (const namespace of Object.keys(en).filter((each) => !NAMED_BY_SERVICE.includes(each)))
    it(`of the namespace ${namespace}`, () => assert.deepEqual(listUnusedKeys(namespace), []));

  it('of a failure', () => {
    const others = Object.keys(en.errors).filter((code) => !Object.hasOwn(FAILURES, code));
    assert.deepEqual(
      others.filter((code) => !web.includes(`'${code}'`)),
      [],
    );
  });

  it('of a setting, and every setting has one', () => {
    const { jose, wssec, ...ofProcessors } = en.settingNames;
    const ofProxy = Object.entries({ jose, wssec }).flatMap(([group, names]) =>
      Object.keys(names).map((name) => `${group}.${name}`),
    );
    assert.deepEqual(
      [...Object.keys(ofProcessors), ...ofProxy].sort(),
      [...PROCESSOR_SETTINGS, ...SETTING_NAMES].sort(),
    );
  });

  it('of a status', () => {
    const wire = JSON.stringify(routes.map(({ data }) => data.schema));
    assert.deepEqual(
      Object.keys(en.status).filter((status) => !wire.includes(`"${status}"`) && !web.includes(`status="${status}"`)),
      [],
    );
  });
});

describe('every code of the service has a text', () => {
  for (const [what, keys] of [
    ['every failure', Object.keys(FAILURES).map((code) => `errors.${code}`)],
    ['every finding of health', FINDINGS.map((finding) => `health.findings.${finding}`)],
    ['what each finding is about', FINDINGS.map((finding) => `health.about.${finding.split('-')[0]}`)],
    ['every action of the audit log', AUDIT_ACTIONS.map((action) => `audit.actions.${action}`)],
    ['every permission', PERMISSIONS.map((permission) => `keys.permission.${permission.replace(':', '_')}`)],
    ['every role', ROLE_NAMES.map((role) => `team.role.${role}`)],
    [
      'every change that takes two people',
      routes.flatMap(({ dualControl }) => (dualControl === undefined ? [] : [`approvals.action.${dualControl}`])),
    ],
    [
      'every change of an operator that takes two people',
      RESTRICTED_ACTIONS.map((action) => `approvals.action.${action}`),
    ],
    ['every status of a payment', STATUSES.map((status) => `status.${status}`)],
    [
      'every reason of a payment',
      Object.values(REASONS).flatMap((codes) => codes.map((code) => `payments.reason.${code}`)),
    ],
    ['every setting of the proxy', settingsOfProxy({}).map(({ name }) => `proxy.settings.descriptions.${name}`)],
  ] as const)
    it(what, () => assert.deepEqual(missing(keys), []));
});

describe('every code of the audit log has a text', () => {
  const rows = readFileSync(join(import.meta.dirname, '..', 'docs', 'audit-log.md'), 'utf8')
    .split('\n')
    .filter((line) => /^\| `[a-z-]+\.[a-z-]+` \|/.test(line))
    .map((line) => line.split(' | '));
  const quoted = (text: string): string[] => [...text.matchAll(/`([\w-]+)`/g)].map(([, code = '']) => code);
  const details = rows.map(([, , , text = '']) => text);
  const namesIn = (text: string): string[] => [...text.matchAll(/`detail\.(\w+)`/g)].map(([, name = '']) => name);
  /** In brackets behind the name of a detail. */
  const codesOf = (name: string): string[] =>
    details.flatMap((text) => quoted(new RegExp(`\`(?:detail\\.)?${name}\` \\(([^)]*)\\)`).exec(text)?.[1] ?? ''));

  const filterNames = Object.keys(listServiceAudit.body?.schema['properties'] ?? {}).filter(
    (name) => name !== 'cursor' && name !== 'order',
  );

  it('every outcome', () => {
    const outcomes = new Set(rows.flatMap(([, , text = '']) => quoted(text)));
    assert.ok(outcomes.size > 20, [...outcomes].join());
    assert.deepEqual(missing([...outcomes].map((outcome) => `audit.outcomes.${outcome}`)), []);
  });

  it('every closed value of the audit log has a text', () => {
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

  for (const [name, prefix] of [
    ['use', 'audit.values.use'],
    ['kind', 'audit.values.kind'],
    ['factor', 'audit.values.factor'],
    ['forced', 'audit.values.answer'],
    ['dual_control', 'audit.values.answer'],
    ['altered', 'audit.values.answer'],
    ['operation', 'payments.operation'],
  ] as const)
    it(`every code of "${name}"`, () =>
      assert.deepEqual(missing(codesOf(name).map((code) => `${prefix}.${code}`)), []));

  it('every audited filter', () => assert.deepEqual(missing(filterNames.map((name) => `audit.filters.${name}`)), []));
});
