import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { jarsOf, type Tool } from './install.ts';
import { LineProcess } from './lines.ts';

export interface Program {
  readonly tool: Tool;
  /** The class to start, and the others that it needs. */
  readonly classes: readonly [string, ...string[]];
}

/** Beside what other tools keep of this project, and out of its sources. */
const CACHE = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'cardvault-receivers');
const run = promisify(execFile);

export async function startJava({ tool, classes }: Program): Promise<LineProcess> {
  const compiled = await compile(tool, classes);
  const path = [compiled, ...jarsOf(tool)].join(delimiter);
  // No quicker compiler: RSA takes ten times as long without the intrinsics of the full one.
  const args = ['-XX:+UseSerialGC', '-Xshare:auto', '-cp', path, classes[0]];
  return new LineProcess(classes[0], 'java', args);
}

/** Each state of the sources is compiled once on a machine. */
async function compile(tool: Tool, classes: readonly string[]): Promise<string> {
  const sources = classes.map((name) => join(import.meta.dirname, `${name}.java`));
  const hash = createHash('sha256');
  for (const source of sources) hash.update(readFileSync(source));
  const target = join(CACHE, hash.digest('hex').slice(0, 24));
  if (existsSync(target)) return target;
  mkdirSync(CACHE, { recursive: true });
  const draft = mkdtempSync(join(CACHE, 'draft-'));
  await run('javac', ['-d', draft, '-cp', jarsOf(tool).join(delimiter), ...sources]);
  settle(draft, target);
  return target;
}

/** Of two processes that compile at once, the later one finds the place taken and throws its own away. */
function settle(draft: string, target: string): void {
  try {
    renameSync(draft, target);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    if (!existsSync(target)) throw error;
  }
}
