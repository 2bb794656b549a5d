import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { apt, onPath } from '../receivers/install.ts';

/**
 * Firefox as users have it, driven by WebDriver BiDi (W3C). Playwright needs a Firefox of its own, which no package registry has, or one
 * that is newer than the long-term release of Debian.
 */
export interface Firefox {
  open(address: string): Promise<void>;
  /** Evaluates an expression in the page, or in its frame; returns its JSON value. */
  evaluate<Value>(expression: string, where?: 'page' | 'frame'): Promise<Value>;
  /** Presses keys in the page or its frame; U+E004 is Tab and U+E007 is Enter. */
  press(keys: string, where?: 'page' | 'frame'): Promise<void>;
  close(): Promise<void>;
}

const NAMES = ['firefox-esr', 'firefox'];
const LISTENING = /WebDriver BiDi listening on (ws:\/\/\S+)/;

const nameOfFirefox = (): string | undefined =>
  NAMES.find((name) => spawnSync(name, ['--version'], { encoding: 'utf8' }).stdout?.startsWith('Mozilla Firefox'));

const INSTALLS_WITHIN_MS = 240_000;

/** False when there is a Firefox on this machine, or Debian's could be installed, else why not. */
export function whyNoFirefox(): string | false {
  if (nameOfFirefox() !== undefined) return false;
  if (process.getuid?.() === 0 && onPath('apt-get')) {
    const until = performance.now() + INSTALLS_WITHIN_MS;
    if (apt(['update'], until)) apt(['install', '-y', '--no-install-recommends', 'firefox-esr'], until);
  }
  return nameOfFirefox() === undefined && 'no Firefox on this machine';
}

interface Reply {
  readonly id?: number;
  readonly type: string;
  readonly message?: string;
  // biome-ignore lint/suspicious/noExplicitAny: a result of every shape
  readonly result?: any;
}

/** Trusts every certificate: the profile is thrown away. */
export async function openFirefox(): Promise<Firefox> {
  const profile = mkdtempSync(join(tmpdir(), 'cardvault-firefox-'));
  const env = { ...process.env, HOME: profile };
  const args = ['--headless', '--no-remote', '--remote-debugging-port=0', '--profile', profile];
  const child = spawn(nameOfFirefox() ?? '', args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(child, 'exit');
  const address = await new Promise<string>((resolve, reject) => {
    createInterface(child.stderr).on('line', (line) => {
      const [, found] = LISTENING.exec(line) ?? [];
      if (found !== undefined) resolve(found);
    });
    ended.then(() => reject(new Error('Firefox ended')), reject);
  });
  const socket = new WebSocket(`${address}/session`);
  await once(socket, 'open');
  const waiting = new Map<number, { resolve(result: Reply['result']): void; reject(error: Error): void }>();
  socket.addEventListener('message', ({ data }) => {
    const { id, type, message, result }: Reply = JSON.parse(String(data));
    const { resolve, reject } = waiting.get(id ?? 0) ?? {};
    if (type === 'success') resolve?.(result);
    else if (type === 'error') reject?.(new Error(message));
  });
  let last = 0;
  const send = (method: string, params: object): Promise<Reply['result']> =>
    new Promise((resolve, reject) => {
      waiting.set(++last, { resolve, reject });
      socket.send(JSON.stringify({ id: last, method, params }));
    });
  await send('session.new', { capabilities: { alwaysMatch: { acceptInsecureCerts: true } } });
  const contextOf = async (where: 'page' | 'frame'): Promise<string> => {
    const [page] = (await send('browsingContext.getTree', {})).contexts;
    return where === 'page' ? page.context : page.children[0].context;
  };
  return {
    open: async (url) => {
      await send('browsingContext.navigate', { context: await contextOf('page'), url, wait: 'complete' });
    },
    evaluate: async (expression, where = 'page') => {
      const { result, exceptionDetails } = await send('script.evaluate', {
        expression: `(async () => JSON.stringify((await (${expression})) ?? null))()`,
        ...{ target: { context: await contextOf(where) }, awaitPromise: true },
      });
      if (exceptionDetails !== undefined) throw new Error(exceptionDetails.text);
      return JSON.parse(result.value);
    },
    press: async (keys, where = 'page') => {
      const strokes = [...keys].flatMap((value) => ['keyDown', 'keyUp'].map((type) => ({ type, value })));
      await send('input.performActions', {
        context: await contextOf(where),
        actions: [{ type: 'key', id: 'keyboard', actions: strokes }],
      });
    },
    close: async () => {
      socket.close();
      child.kill('SIGKILL');
      await ended;
      rmSync(profile, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}
