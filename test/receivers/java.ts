import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { absent, jarsOf, type Tool } from './install.ts';
import { LineProcess, Lines } from './lines.ts';

export interface Program {
  readonly tool: Tool;
  /** The class to start, and the others that it needs. */
  readonly classes: readonly [string, ...string[]];
  /** The folder of their sources; this one when missing. */
  readonly folder?: string;
}

/** In the cache folder of other tools, and outside of the sources. */
const ROOT = join(import.meta.dirname, '..', '..');
const CACHE = join(ROOT, 'node_modules', '.cache', 'cardvault-receivers');
const run = promisify(execFile);

/** With the libraries of this tool all programs compile. */
const EVERYTHING: Tool = 'java-wss4j';

/**
 * Compiles all programs at once, because the compiler takes longer to start than to compile one more of them. Returns the
 * folder of the classes; undefined where a library is missing.
 */
export async function compileJava(): Promise<string | undefined> {
  if (absent(EVERYTHING) !== false) return undefined;
  const sources = globSync('{test/receivers,docs/guides/{receivers,senders}}/*.java', { cwd: ROOT });
  return compile(
    EVERYTHING,
    sources.sort().map((source) => join(ROOT, source)),
  );
}

/** Starts the first class, up to its arguments. */
export async function javaCommand({ tool, classes, folder = import.meta.dirname }: Program): Promise<string[]> {
  const own = classes.map((name) => join(folder, `${name}.java`));
  const compiled = (await compileJava()) ?? (await compile(tool, own));
  const path = [compiled, ...jarsOf(tool)].join(delimiter);
  // No quicker compiler: RSA takes ten times as long without the intrinsics of the full one.
  return ['java', '-XX:+UseSerialGC', '-Xshare:auto', '-cp', path, classes[0]];
}

const started = new Map<string, Promise<LineProcess>>();

/** All receivers of one class share one process, because a virtual machine takes seconds to become fast. */
export async function startJava(program: Program): Promise<Lines> {
  const [name] = program.classes;
  const process = started.get(name) ?? startProcess(program);
  started.set(name, process);
  return new Lines(await process);
}

async function startProcess(program: Program): Promise<LineProcess> {
  const [command = '', ...args] = await javaCommand(program);
  return new LineProcess(program.classes[0], command, args);
}

/** The compiler runs for a moment, in which optimizing it takes longer than it saves. */
const QUICK_COMPILER = ['-J-XX:TieredStopAtLevel=1', '-J-XX:+UseSerialGC', '-proc:none'];

/** Each state of the sources is compiled once on a machine. */
async function compile(tool: Tool, sources: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const source of sources) hash.update(readFileSync(source));
  const target = join(CACHE, hash.digest('hex').slice(0, 24));
  if (existsSync(target)) return target;
  mkdirSync(CACHE, { recursive: true });
  const draft = mkdtempSync(join(CACHE, 'draft-'));
  await run('javac', [...QUICK_COMPILER, '-d', draft, '-cp', jarsOf(tool).join(delimiter), ...sources]);
  moveIntoPlace(draft, target);
  return target;
}

/** When two processes compile concurrently, the later one finds the folder and discards its own. */
function moveIntoPlace(draft: string, target: string): void {
  try {
    renameSync(draft, target);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    if (!existsSync(target)) throw error;
  }
}
