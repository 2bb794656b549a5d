import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Ran, Shell } from './command.ts';

/** An operator at work on the proxy: a data directory, and key files beside it. */
export interface Desk {
  readonly directory: string;
  /** Where key files are. */
  readonly files: string;
  file(content: string | Uint8Array): string;
  newAccount(): Promise<string>;
  /** `cardvault <command>`. */
  run(...args: string[]): Promise<Ran>;
  /** `cardvault proxy <command>` for an account in the sandbox, unless another environment is given. */
  proxy(command: string, account: string, ...more: string[]): Promise<Ran>;
  close(): Promise<void>;
}

export function openDesk(): Desk {
  const [directory, files] = [1, 2].map(() => mkdtempSync(join(tmpdir(), 'cardvault-test-'))) as [string, string];
  const shell = new Shell(directory);
  const run = (...args: string[]): Promise<Ran> => shell.run(...args);
  let written = 0;
  return {
    directory,
    files,
    file: (content) => {
      const name = join(files, `file-${++written}`);
      writeFileSync(name, content);
      return name;
    },
    newAccount: async () => (await run('account', 'create', '--name', 'Store', '--json')).json.id,
    run,
    proxy: (command, account, ...more) => {
      const environment = more.includes('--environment') ? [] : ['--environment', 'sandbox'];
      return run('proxy', command, '--account', account, ...environment, ...more);
    },
    close: async () => {
      await shell.close();
      for (const each of [directory, files]) rmSync(each, { recursive: true, force: true });
    },
  };
}

/** The document that a command printed, which must have gone well. */
export async function done(ran: Promise<Ran>): Promise<Ran['json']> {
  const finished = await ran;
  if (finished.code !== 0 || finished.err !== '') throw new Error(`exit code ${finished.code}: ${finished.err}`);
  return finished.json;
}
