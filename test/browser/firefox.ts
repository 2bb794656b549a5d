import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { apt, onPath } from '../receivers/install.ts';
import { type DrivenBrowser, toJsonExpression, toStrokes, type Where } from './driven-browser.ts';

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

/** An expression of where an element is in the window of its document. */
const centerOf = (selector: string): string =>
  `(({ x, y, width, height }) => ({ x: Math.round(x + width / 2), y: Math.round(y + height / 2) }))(
    document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect())`;

const toClick = (place: unknown): object[] => [
  {
    ...{ type: 'pointer', id: 'mouse', parameters: { pointerType: 'mouse' } },
    actions: [
      { type: 'pointerMove', ...(place as { x: number; y: number }) },
      { type: 'pointerDown', button: 0 },
      { type: 'pointerUp', button: 0 },
    ],
  },
];

interface Reply {
  readonly id?: number;
  readonly type: string;
  readonly message?: string;
  // biome-ignore lint/suspicious/noExplicitAny: a result of every shape
  readonly result?: any;
}

/**
 * Driven by WebDriver BiDi (W3C), with which Playwright needs a newer Firefox than the long-term release of Debian. Trusts every
 * certificate: the profile is thrown away.
 */
export async function openFirefox(): Promise<DrivenBrowser> {
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
  const { capabilities } = await send('session.new', { capabilities: { alwaysMatch: { acceptInsecureCerts: true } } });
  const contextOf = async (where: Where): Promise<string> => {
    const [page] = (await send('browsingContext.getTree', {})).contexts;
    return where === 'page' ? page.context : page.children[0].context;
  };
  const act = async (actions: readonly object[], where: Where): Promise<void> => {
    await send('input.performActions', { context: await contextOf(where), actions });
  };
  const evaluate = async (expression: string, where: Where): Promise<unknown> => {
    const { result, exceptionDetails } = await send('script.evaluate', {
      expression: toJsonExpression(expression),
      ...{ target: { context: await contextOf(where) }, awaitPromise: true },
    });
    if (exceptionDetails !== undefined) throw new Error(exceptionDetails.text);
    return JSON.parse(result.value);
  };
  return {
    release: `${capabilities.browserName} ${capabilities.browserVersion}`,
    open: async (url) => {
      await send('browsingContext.navigate', { context: await contextOf('page'), url, wait: 'complete' });
    },
    back: async () => {
      await send('browsingContext.traverseHistory', { context: await contextOf('page'), delta: -1 });
    },
    evaluate: async <Value>(expression: string, where: Where = 'page') => (await evaluate(expression, where)) as Value,
    click: async (selector, where = 'page') => act(toClick(await evaluate(centerOf(selector), where)), where),
    press: (keys, where = 'page') => act(toStrokes(keys), where),
    close: async () => {
      socket.close();
      child.kill('SIGKILL');
      await ended;
      rmSync(profile, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}
