import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ROLE_NAMES } from '../console/people/roles.ts';
import { routes } from '../console/server/routes.ts';
import { en } from '../console/web/src/text/en.ts';
import { es } from '../console/web/src/text/es.ts';
import { listServiceAudit } from '../console/wire/audit.ts';
import { FINDINGS } from '../console/wire/operator.ts';
import { RESTRICTED_ACTIONS } from '../src/accounts/change-control.ts';
import { PERMISSIONS } from '../src/accounts/permission.ts';
import { AUDIT_ACTIONS } from '../src/audit/audit.ts';
import { FAILURES } from '../src/kernel/failure.ts';
import { REASONS, STATUSES } from '../src/payments/transitions.ts';
import { listSettings as settingsOfProxy } from '../src/proxy/settings.ts';

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
    (name) => name !== 'cursor',
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
