import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { LANGUAGES } from '../../console/wire/session.ts';
import { systemRandom } from '../../src/crypto/random.ts';
import { ProcessorHosts } from '../../src/payments/processor-hosts.ts';
import { createProcessors } from '../../src/payments/processors.ts';
import { COMMON_SETTINGS } from '../../src/payments/settings.ts';
import { Toy } from '../fixtures/toy-processor/toy.ts';
import { CARD, idOf, order, PAYMENTS } from '../interface/payment-requests.ts';
import { type Backend, type BackendParts, SETTINGS, statesIn } from '../simulation/backend.ts';
import { ObservedHttp, overWire, Wire } from '../simulation/fake-backends.ts';
import { traceOf } from '../simulation/report.ts';
import { SeededRandom } from '../simulation/seeded-random.ts';
import { simulate } from '../simulation/simulation.ts';
import { FakeToy, TOY_FAULTS } from './fake-toy.ts';

/** A processor is added by the files that the guide names, and by no others. */
const ROOT = join(import.meta.dirname, '..', '..');
const TOY = join(import.meta.dirname, '..', 'fixtures', 'toy-processor');
const REGISTRY = 'src/payments/processors.ts';
const FILES = ['toy.ts', 'mapping.ts'].map((name) => `src/payments/processors/toy/${name}`);

async function toyBackend({ time, seeded, tenant, log }: BackendParts): Promise<Backend> {
  const outboundHttp = new ObservedHttp();
  const { onUnanswered } = outboundHttp;
  const fake = new FakeToy({ seeded: seeded.branch(), now: () => time.now, onUnanswered });
  const url = await fake.start();
  const toy = new Toy({ outboundHttp });
  const wire = new Wire({ time, seeded, tenant, log }, outboundHttp, () => {
    const fault = seeded.pick(TOY_FAULTS);
    fake.inject(fault);
    return fault;
  });
  const { ledger } = fake;
  return {
    ...overWire(wire),
    name: 'toy',
    settings: { ...SETTINGS, 'base-url': url, 'toy-key': 'merchant' },
    partialCapture: true,
    seenBy: (process) => ({
      ...wire.seenBy(toy, process),
      // In place of requests to the address for notifications.
      pollNotifications: async () =>
        process.isDead() ? [] : ledger.takeNotifications().map((operationId) => ({ tenant, operationId })),
    }),
    calmDown: () => {
      wire.isCalm = true;
      ledger.isCalm = true;
      fake.inject(undefined);
    },
    nextTurn: () => ledger.nextTurn(),
    states: async () => statesIn(ledger),
    violations: () => ledger.violations,
    close: async () => {
      outboundHttp.close();
      await fake.stop();
    },
  };
}

test('an added processor and the service agree after crashes, broken connections and malformed responses', async () => {
  for (const seed of [1, 2]) {
    const report = await simulate({ seed, processor: toyBackend, requests: 30 });
    if (report.faults.length > 0) assert.fail(traceOf(report));
    assert.ok(report.payments > 3, `${report.payments} payments prove nothing`);
  }
});

/** Copies the product, and adds the toy as a developer would. */
function addToy(root: string): void {
  const filter = (path: string): boolean => !/\.test\.ts$|\/web\/src$|\/test\/(vectors|browser)$/.test(path);
  for (const name of ['src', 'console', 'test'])
    cpSync(join(ROOT, name), join(root, name), { recursive: true, filter });
  cpSync(join(ROOT, 'package.json'), join(root, 'package.json'));
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  mkdirSync(join(root, 'src/payments/processors/toy'));
  for (const path of FILES) {
    const source = readFileSync(join(TOY, path.slice(path.lastIndexOf('/') + 1)), 'utf8');
    const moved = source
      .replaceAll("'../../../src/payments/processors/", "'../")
      .replaceAll("'../../../src/payments/", "'../../")
      .replaceAll("'../../../src/", "'../../../");
    writeFileSync(join(root, path), moved);
  }
  const registry = readFileSync(join(root, REGISTRY), 'utf8');
  const line = '    koin: new Koin({ outboundHttp }),\n';
  assert.ok(registry.includes(line));
  const added = registry.replace(line, `${line}    toy: new Toy({ outboundHttp }),\n`);
  writeFileSync(join(root, REGISTRY), `import { Toy } from './processors/toy/toy.ts';\n${added}`);
}

describe('a service with an added processor', () => {
  const root = mkdtempSync(join(tmpdir(), 'cardvault-added-'));
  const fake = new FakeToy({ seeded: new SeededRandom(1), now: () => Date.now() });
  const load = (path: string) => import(pathToFileURL(join(root, path)).href);
  // biome-ignore lint/suspicious/noExplicitAny: it is of the copy, whose types are others
  let service: any;
  let url: string;
  before(async () => {
    addToy(root);
    url = await fake.start();
    service = await (await load('test/fixtures/test-service.ts')).startTestService();
  });
  after(async () => {
    await service?.stop();
    await fake.stop();
    rmSync(root, { recursive: true, force: true });
  });

  test('shows its settings in the console, with a text in each language', async () => {
    const { newPerson } = await load('test/console/console-client.ts');
    const operator = await newPerson(service, '', 'operator', 'Olga');
    const { listProcessors } = await load('console/wire/operator.ts');
    const { processors } = (await operator.call(listProcessors)).json;
    const shown = processors.find(({ name }: { name: string }) => name === 'toy');
    assert.deepEqual(
      shown.settings.map(({ name }: { name: string }) => name).sort(),
      [...Object.keys(COMMON_SETTINGS), 'base-url', 'toy-key'].sort(),
    );
    const key = shown.settings.find(({ name }: { name: string }) => name === 'toy-key');
    assert.deepEqual(key.description, { en: 'Key of the merchant at the toy', es: 'Clave del comercio en el juguete' });
    assert.deepEqual([key.is_required, key.is_secret, key.value], [true, true, null]);
  });

  test('authorizes and captures with it', async () => {
    const account = await service.newAccount();
    await service.enablePayments(account, { 'base-url': url, 'toy-key': 'merchant' }, 'toy');
    const { secret } = await service.newKey(account, { permissions: ['payments:write', 'payments:read'] });
    const authorized = await service.call('POST', PAYMENTS, { key: secret, body: order() });
    assert.equal(authorized.json.message, 'Authorization successful', authorized.text);
    const captured = await service.call('POST', `${PAYMENTS}/${idOf(authorized)}/capture`, {
      key: secret,
      body: { transaction_info: { type: 'capture' } },
    });
    assert.equal(captured.json.message, 'Capture successful', captured.text);
    assert.deepEqual(fake.cards, [CARD.number]);
    assert.deepEqual(fake.ledger.violations, []);
  });
});

describe('the guide', () => {
  const guide = readFileSync(join(ROOT, 'docs/processors/write-a-processor.md'), 'utf8');
  const [, files = ''] = guide.split('\n## ');
  const rows = [...files.matchAll(/^\| `([^`]+)` \|/gm)];

  test('names the six files that this test adds or changes', () => {
    assert.deepEqual(
      rows.map(([, path = '']) => path.replaceAll('NAME', 'toy')),
      [...FILES, REGISTRY, 'docs/processors/toy.md', 'test/processors/fake-toy.ts', 'test/processors/toy.test.ts'],
    );
  });
});

test('every setting of every processor has a text in each language of the console', () => {
  const parts = { database: undefined as never, clock: () => 0, random: systemRandom(), hosts: new ProcessorHosts() };
  const processors = createProcessors(parts);
  for (const [name, { settings }] of Object.entries(processors.byName))
    for (const [setting, { description }] of Object.entries({ ...COMMON_SETTINGS, ...settings })) {
      assert.deepEqual(Object.keys(description).sort(), [...LANGUAGES].sort());
      for (const text of Object.values(description))
        assert.match(text, /^\S.*[^\s.]$/, `${name}, ${setting}: a text without blanks and a period at its end`);
    }
  processors.close();
});
