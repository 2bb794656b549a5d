import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { toDebianVersion } from '../../scripts/release/debian.ts';
import { sha256Of } from '../../scripts/release/node-binary.ts';
import { listFiles } from '../../scripts/release/run.ts';
import { cloneAgain, cloneCheckout, makeRelease, newLargeFolder, whyNoRelease } from '../fixtures/release.ts';
import { onlyLong } from '../scope.ts';

/** Releases, as a releaser makes them and an operator installs them. */

const ROOT = join(import.meta.dirname, '..', '..');
const VECTORS = join(ROOT, 'test', 'vectors', 'cyclonedx');
const PLATFORM = `${process.platform}-${process.arch}`;
const OTHER_PLATFORM = process.arch === 'x64' ? 'linux-arm64' : 'linux-x64';
const ARCHITECTURES: Readonly<Record<string, string>> = { 'linux-x64': 'amd64', 'linux-arm64': 'arm64' };
const ARCHITECTURE = ARCHITECTURES[PLATFORM];
/** `e_machine` of the header of a program (ELF), and where it is. */
const MACHINES: Readonly<Record<string, number>> = { 'linux-x64': 62, 'linux-arm64': 183 };
const MACHINE_OFFSET = 18;
/** A sentence or heading of each license that the packages of a release are under. */
const LICENSE_TEXT =
  /Permission is hereby granted, free of charge|Permission to use, copy, modify,|Redistribution and use in source and binary forms|TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION|SIL OPEN FONT LICENSE/i;
/** Packages that contain no text of the license that they name. */
const WITHOUT_TEXT = ['abstract-logging', 'react-remove-scroll-bar', 'saxes'];
const SIGNER = 'releases@cardvault';
const CARD = '4111111111111111';
const skip = onlyLong || whyNoRelease();

interface Sbom {
  readonly components: readonly { readonly name: string; readonly version: string }[];
}

interface License {
  readonly name: string;
  readonly text: string;
}

/** Returns the sections of `LICENSES.txt`, with the spaces of a line between all words. */
function parseLicenses(text: string): License[] {
  const sections = text.split(/\n={80}\n(?=\S+ \S+ \((?:service|console)\)\n)/).slice(1);
  return sections.map((section) => {
    const [heading = '', ...rest] = section.split(`\n${'='.repeat(80)}\n`);
    return { name: heading.split(' ')[0] ?? '', text: rest.join('\n').replace(/\s+/g, ' ') };
  });
}

describe('a release', { skip, timeout: 3_600_000 }, () => {
  const folder = skip === false ? newLargeFolder() : '';
  const version = (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version;
  const name = `cardvault-${version}-${PLATFORM}`;
  const [first, second] = [join(folder, 'first'), join(folder, 'second')];
  const key = join(folder, 'key');
  const allowed = join(folder, 'allowed_signers');
  const unpacked = join(folder, `cardvault-${version}`);
  const sbom = (): Sbom => JSON.parse(readFileSync(join(first, `${name}.cdx.json`), 'utf8'));
  const verify = (of: string, input: Buffer, namespace = 'cardvault-release'): number | null => {
    const args = ['-Y', 'verify', '-f', allowed, '-I', SIGNER, '-n', namespace, '-s', join(of, 'SHA256SUMS.sig')];
    return spawnSync('ssh-keygen', args, { input }).status;
  };

  before(async () => {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', SIGNER, '-f', key]);
    const [type, publicKey] = readFileSync(`${key}.pub`, 'utf8').split(' ');
    writeFileSync(allowed, `${SIGNER} namespaces="cardvault-release" ${type} ${publicKey}\n`);
    const [one, other] = [join(folder, 'one'), join(folder, 'other clone')];
    cloneCheckout(one);
    cloneAgain(one, other);
    const args = ['--deb', '--key', key];
    await Promise.all([
      makeRelease(one, [...args, '--out', first]),
      makeRelease(other, [...args, '--out', second], { UMASK: '077', TZ: 'Asia/Tokyo', LC_ALL: 'C' }),
    ]);
    execFileSync('tar', ['-xzf', join(first, `${name}.tgz`), '-C', folder]);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  test('has the same bytes from another folder, umask and time zone', () => {
    const names = readdirSync(first).sort();
    const files = [`${name}.cdx.json`, `${name}.provenance.json`, `${name}.tgz`];
    assert.deepEqual(names, [
      'SHA256SUMS',
      'SHA256SUMS.sig',
      ...files,
      `cardvault_${toDebianVersion(version)}_${ARCHITECTURE}.deb`,
    ]);
    assert.deepEqual(readdirSync(second).sort(), names);
    for (const each of names) assert.ok(readFileSync(join(first, each)).equals(readFileSync(join(second, each))), each);
  });

  test('is verified by its signature and digests, and is not after a change', () => {
    const sums = readFileSync(join(first, 'SHA256SUMS'));
    assert.equal(verify(first, sums), 0);
    assert.notEqual(verify(first, Buffer.concat([sums, Buffer.from('\n')])), 0);
    assert.notEqual(verify(first, sums, 'file'), 0);
    const check = (): number | null =>
      spawnSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: second }).status;
    assert.equal(check(), 0);
    writeFileSync(join(second, `${name}.cdx.json`), '{}\n');
    assert.notEqual(check(), 0);
  });

  test('lists its components by the schema of CycloneDX, and each with the text of its license', () => {
    const schemas = ['spdx', 'jsf-0.82', 'bom-1.5'].map((each) =>
      JSON.parse(readFileSync(join(VECTORS, `${each}.schema.json`), 'utf8')),
    );
    const ajv = new Ajv({ strict: false });
    addFormats.default(ajv, ['date-time', 'uri']);
    for (const format of ['iri-reference', 'idn-email']) ajv.addFormat(format, true);
    // The files name each other as their snapshots.
    for (const [index, each] of ['spdx', 'jsf-0.82'].entries())
      ajv.addSchema(schemas[index], `http://cyclonedx.org/schema/${each}.SNAPSHOT.schema.json`);
    const validate = ajv.compile(schemas[2]);
    assert.ok(validate(sbom()), JSON.stringify(validate.errors));
    assert.equal(validate({ ...sbom(), specVersion: 1 }), false);
    const licenses = readFileSync(join(unpacked, 'LICENSES.txt'), 'utf8');
    for (const each of sbom().components) assert.ok(licenses.includes(`\n${each.name} ${each.version} (`), each.name);
    const sections = parseLicenses(licenses);
    assert.equal(sections.length, sbom().components.length);
    const without = sections.filter(({ text }) => !LICENSE_TEXT.test(text)).map((each) => each.name);
    assert.deepEqual(without.sort(), WITHOUT_TEXT);
    const node = sections.find((each) => each.name === `node-${PLATFORM}`);
    assert.match(node?.text ?? '', /^ ?Node\.js is licensed for use as follows: .* V8, located at deps\/v8/);
  });

  test('has the packages that the service loads, all of them listed, and no others', () => {
    const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { dev?: boolean; link?: boolean }>;
    };
    const installed = globSync('node_modules/**/package.json', { cwd: unpacked })
      .map((path) => path.slice(0, -'/package.json'.length))
      .filter((path) => Object.hasOwn(lock.packages, path));
    assert.ok(installed.length > 50);
    const refs = new Set(sbom().components.map((each) => `${each.name}@${each.version}`));
    for (const path of installed) {
      assert.notEqual(lock.packages[path]?.dev, true, path);
      const { name: its, version: number } = JSON.parse(readFileSync(join(unpacked, path, 'package.json'), 'utf8'));
      assert.ok(refs.has(`${its}@${number}`), path);
    }
    for (const each of ['typescript', 'vite', '@biomejs', 'react', 'playwright-core', '.bin', 'cardvault-client'])
      assert.equal(existsSync(join(unpacked, 'node_modules', each)), false, each);
  });

  test('has no tests, types, maps or links', () => {
    const names = execFileSync('tar', ['-tvzf', join(first, `${name}.tgz`)], { encoding: 'utf8' })
      .trim()
      .split('\n');
    assert.ok(names.length > 1000);
    const unwanted = names.filter((line) =>
      /\.(test|spec)\.[cm]?[jt]s$|\.d\.[cm]?ts$|\.map$|\/tests?\/$|^l/.test(line),
    );
    assert.deepEqual(unwanted, []);
    assert.deepEqual(
      names.filter((line) => !/^[d-][rwx-]{9} (0\/0|root\/root) /.test(line)),
      [],
    );
  });

  test('starts from an empty folder with an empty environment, and serves API and console', async () => {
    const empty = mkdtempSync(join(folder, 'empty-'));
    const ports = ['PRODUCTION', 'SANDBOX', 'CONSOLE', 'CAPTURE'].map((each) => [`CARDVAULT_${each}_PORT`, '0']);
    const service = spawn(join(unpacked, 'bin', 'cardvault'), ['serve', '--json'], {
      cwd: empty,
      env: Object.fromEntries(ports),
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    try {
      const started = JSON.parse(await firstDocument(service));
      const ca = readFileSync(started.authority_file);
      assert.equal(started.data_directory, join(empty, 'data'));
      for (const path of ['/healthz', '/readyz']) {
        for (const listener of [started.production, started.sandbox, started.console])
          assert.equal((await call(ca, 'GET', `${listener}${path}`)).status, 200, path);
      }
      const page = await call(ca, 'GET', `${started.console}/`);
      assert.equal(page.status, 200);
      const [, script = ''] = /<script[^>]* src="([^"]+)"/.exec(page.text) ?? [];
      assert.equal((await call(ca, 'GET', `${started.console}${script}`)).status, 200);
      const body = { chd: [{ card: CARD, name: 'Ana Lopez', exp: '12/29' }], tags: [], scheme: 1 };
      const url = `${started.sandbox}/v1/tokenization/simple`;
      const created = await call(ca, 'POST', url, { key: started.demo_key, body });
      assert.equal(created.status, 200, created.text);
      assert.match(created.text, /"status":1/);
      assert.notEqual(started.card_form, null);
    } finally {
      service.kill('SIGTERM');
      if (service.exitCode === null) await once(service, 'exit');
    }
    assert.equal(service.exitCode, 0);
  });

  test('states the commit, and the Node inside with its digest', () => {
    const { predicate, subject } = JSON.parse(readFileSync(join(first, `${name}.provenance.json`), 'utf8'));
    assert.deepEqual(
      subject.map((each: { name: string }) => each.name),
      [`${name}.tgz`, `cardvault_${toDebianVersion(version)}_${ARCHITECTURE}.deb`],
    );
    const [source, node] = predicate.buildDefinition.resolvedDependencies;
    assert.match(source.digest.gitCommit, /^[0-9a-f]{40}$/);
    assert.equal(predicate.buildDefinition.internalParameters.filesDifferFromCommit, false);
    const { program, programSha256 } = node.annotations;
    const digest = execFileSync('sha256sum', [program], { cwd: unpacked, encoding: 'utf8' }).slice(0, 64);
    assert.equal(programSha256, digest);
    assert.deepEqual(JSON.parse(readFileSync(join(unpacked, 'provenance.json'), 'utf8')), predicate.buildDefinition);
  });

  describe('with the one for the other platform in the same folder', () => {
    const both = join(folder, 'both');
    const other = `cardvault-${version}-${OTHER_PLATFORM}`;
    const debian = `cardvault_${toDebianVersion(version)}_${ARCHITECTURES[OTHER_PLATFORM]}.deb`;
    const program = (platform: string): string => join('node_modules', `node-${platform}`, 'bin', 'node');
    /** The files of a platform as they are released: the ones that were started contain compiled sources as well. */
    const treeOf = (platform: string): string => join(folder, platform, `cardvault-${version}`);

    before(async () => {
      cpSync(first, both, { recursive: true });
      await makeRelease(join(folder, 'one'), ['--deb', '--key', key, '--platform', OTHER_PLATFORM, '--out', both]);
      for (const platform of [PLATFORM, OTHER_PLATFORM]) {
        mkdirSync(join(folder, platform));
        const archive = join(both, `cardvault-${version}-${platform}.tgz`);
        execFileSync('tar', ['-xzf', archive, '-C', join(folder, platform)]);
      }
    });

    test('has digests and a signature over both platforms', () => {
      const sums = readFileSync(join(both, 'SHA256SUMS'), 'utf8');
      const names = [...readdirSync(first), `${other}.cdx.json`, `${other}.provenance.json`, `${other}.tgz`, debian];
      assert.deepEqual(readdirSync(both).sort(), names.sort());
      const named = sums
        .trim()
        .split('\n')
        .map((line) => line.slice(66));
      assert.deepEqual(named.sort(), names.filter((each) => !each.startsWith('SHA256SUMS')).sort());
      assert.equal(spawnSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: both }).status, 0);
      assert.equal(verify(both, Buffer.from(sums)), 0);
    });

    test('has the Node and the Debian architecture of each', () => {
      for (const platform of [PLATFORM, OTHER_PLATFORM]) {
        const header = readFileSync(join(treeOf(platform), program(platform)));
        assert.equal(header.readUInt16LE(MACHINE_OFFSET), MACHINES[platform], platform);
      }
      const fields = execFileSync('dpkg-deb', ['--field', join(both, debian), 'Architecture', 'Version']);
      const stated = `Architecture: ${ARCHITECTURES[OTHER_PLATFORM]}\nVersion: ${toDebianVersion(version)}\n`;
      assert.equal(fields.toString('utf8'), stated);
      const { predicate } = JSON.parse(readFileSync(join(both, `${other}.provenance.json`), 'utf8'));
      const { annotations } = predicate.buildDefinition.resolvedDependencies[1];
      assert.equal(annotations.programSha256, sha256Of(join(treeOf(OTHER_PLATFORM), program(OTHER_PLATFORM))));
    });

    test('has the same files but for Node', () => {
      const isOfNode = (path: string): boolean => /^node_modules\/node-linux-[^/]+\//.test(path);
      const paths = listFiles(treeOf(PLATFORM)).filter((path) => !isOfNode(path));
      assert.deepEqual(
        listFiles(treeOf(OTHER_PLATFORM)).filter((path) => !isOfNode(path)),
        paths,
      );
      const read = (platform: string, path: string): string => readFileSync(join(treeOf(platform), path), 'latin1');
      const differing = paths.filter((path) => read(PLATFORM, path) !== read(OTHER_PLATFORM, path));
      // They describe Node.
      assert.deepEqual(differing, ['LICENSES.txt', 'package.json', 'provenance.json', 'sbom.cdx.json']);
      for (const path of ['LICENSES.txt', 'package.json'])
        assert.equal(read(OTHER_PLATFORM, path).replaceAll(OTHER_PLATFORM, PLATFORM), read(PLATFORM, path), path);
      const components = ({ components: all }: Sbom) => all.filter((each) => !each.name.startsWith('node-linux-'));
      assert.deepEqual(components(JSON.parse(read(OTHER_PLATFORM, 'sbom.cdx.json'))), components(sbom()));
    });
  });

  test('has a unit with an exposure below 2.0', {
    skip: spawnSync('systemd-analyze', ['--version']).status !== 0 && 'systemd-analyze is not installed',
  }, () => {
    const unit = join(unpacked, 'deploy', 'systemd', 'cardvault.service');
    const args = ['security', '--offline=true', '--threshold=19', unit];
    const { status, stdout } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
    assert.equal(status, 0, stdout.slice(-200));
  });
});

interface Reply {
  readonly status: number;
  readonly text: string;
}

const call = (
  ca: Buffer,
  method: string,
  url: string,
  { key, body }: { key?: string; body?: unknown } = {},
): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const headers = {
      ...(key !== undefined && { 'x-api-key': key }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    };
    const outgoing = request(url, { method, headers, ca }, async (incoming) => {
      let text = '';
      for await (const chunk of incoming) text += chunk;
      resolve({ status: incoming.statusCode ?? 0, text });
    });
    outgoing.on('error', reject);
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });

/** Returns the first JSON document that a process prints. */
function firstDocument(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stdout?.setEncoding('utf8').on('data', (part: string) => {
      text += part;
      if (/^}$/m.test(text)) resolve(text.slice(0, text.search(/^}$/m) + 1));
    });
    child.on('exit', (code) => reject(new Error(`ended with ${code} before it printed where it listens`)));
  });
}
