import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/**
 * Software that we did not write and that must accept what we emit. Each tool is optional: tests that need one say why
 * they are skipped when it is not there.
 */
export type Tool = 'age' | 'java' | 'java-wss4j' | 'java-santuario' | 'xmlsec1' | 'python-jwcrypto' | 'python-xmlsec';

const JARS = '/usr/share/java';
const PYTHON = '/usr/bin/python3';
const WITHIN_MS = 180_000;

const PACKAGES: Readonly<Record<Tool, readonly string[]>> = {
  age: ['age'],
  java: ['default-jdk-headless'],
  'java-wss4j': ['libwss4j-java', 'libxml-security-java'],
  'java-santuario': ['libxml-security-java'],
  xmlsec1: ['xmlsec1'],
  'python-jwcrypto': ['python3-jwcrypto'],
  'python-xmlsec': ['python3-lxml', 'python3-xmlsec', 'python3-cryptography'],
};

/** The parts of WSS4J and the library beneath it; the loggers are silent. */
const LIBRARIES: Readonly<Partial<Record<Tool, readonly string[]>>> = {
  'java-wss4j': ['wss4j', 'xmlsec', 'commons-logging', 'commons-codec', 'slf4j-api', 'slf4j-nop'],
  'java-santuario': ['xmlsec', 'commons-codec', 'slf4j-api', 'slf4j-nop'],
};

const MODULES: Readonly<Partial<Record<Tool, readonly string[]>>> = {
  'python-jwcrypto': ['jwcrypto'],
  'python-xmlsec': ['lxml', 'xmlsec', 'cryptography'],
};

const found = new Map<Tool, string | false>();

/** False when the tool is there, else why not: made for `test('…', { skip: absent('java-wss4j') }, …)`. */
export function absent(tool: Tool): string | false {
  const known = found.get(tool) ?? inspect(tool);
  found.set(tool, known);
  return known;
}

export const jarsOf = (tool: Tool): string[] => (LIBRARIES[tool] ?? []).map((name) => join(JARS, `${name}.jar`));
export const python = PYTHON;

function inspect(tool: Tool): string | false {
  if (tool === 'age' || tool === 'xmlsec1') return onPath(tool) ? false : `no ${tool}`;
  const modules = MODULES[tool];
  if (modules !== undefined) return lacksModules(modules);
  if (!onPath('java') || !onPath('javac')) return 'no Java development kit';
  const jar = jarsOf(tool).find((each) => !existsSync(each));
  return jar === undefined ? false : `no ${jar}`;
}

function lacksModules(modules: readonly string[]): string | false {
  const { status } = spawnSync(PYTHON, ['-B', '-c', `import ${modules.join(', ')}`], { stdio: 'ignore' });
  return status === 0 ? false : `${PYTHON} lacks one of ${modules.join(', ')}`;
}

export const onPath = (command: string): boolean =>
  (process.env['PATH'] ?? '').split(delimiter).some((folder) => isExecutable(join(folder, command)));

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const lacking = (): Tool[] => (Object.keys(PACKAGES) as Tool[]).filter((tool) => absent(tool) !== false);

/**
 * Installs what is missing where that is possible: as root, on a Debian. Never throws; returns the tools that are
 * still missing. Does nothing when all are there.
 */
export function installReceivers(): Tool[] {
  const missing = lacking();
  if (missing.length === 0 || process.getuid?.() !== 0 || !onPath('apt-get')) return missing;
  // A JDK of another origin than Debian's is as good, and is large to install a second time.
  const packages = [
    ...new Set(missing.flatMap((tool) => [...PACKAGES[tool], ...(needsJdk(tool) ? PACKAGES.java : [])])),
  ];
  const until = performance.now() + WITHIN_MS;
  if (apt(['update'], until)) apt(['install', '-y', '--no-install-recommends', ...packages], until);
  found.clear();
  return lacking();
}

const needsJdk = (tool: Tool): boolean => tool.startsWith('java') && !onPath('javac');

export function apt(args: readonly string[], until: number): boolean {
  const timeout = Math.floor(until - performance.now());
  if (timeout <= 0) return false;
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const { status } = spawnSync('apt-get', ['-qq', '-o', 'DPkg::Lock::Timeout=60', ...args], {
    env,
    timeout,
    stdio: 'ignore',
  });
  return status === 0;
}
