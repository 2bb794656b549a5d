import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { installPackages } from '../fixtures/debian-packages.ts';
import { freePort } from '../fixtures/postgres-server.ts';
import { type DrivenBrowser, toJsonExpression, toStrokes, type Where } from './driven-browser.ts';
import { untilPasses } from './until-passes.ts';

/**
 * WebKitGTK, which has the engine of Safari, with the small browser that comes with it, on a display in memory. It is driven by WebDriver
 * (W3C).
 */
const DRIVER = 'WebKitWebDriver';
const DISPLAY = 'Xvfb';

/** Longer than the script of a shop waits for the form. */
const ANSWERS_WITHIN_MS = 20_000;
/** The driver gives no answer for a page that is left while it evaluates, so that another one is asked for. */
const ANSWERS_WHILE_LEAVING_MS = 3000;

/** False when there is a WebKit on this machine, or Debian's could be installed, else why not. */
export const whyNoWebKit = (): string | false =>
  installPackages(['webkit2gtk-driver', 'xvfb'], [DRIVER, DISPLAY]) ?? false;

/** Trusts every certificate: the profile is thrown away. `features`: what the browser enables (+) or disables (-), as `-TrustedTypes`. */
export async function openWebKit({ features = '' } = {}): Promise<DrivenBrowser> {
  const profile = mkdtempSync(join(tmpdir(), 'cardvault-webkit-'));
  const children: ChildProcess[] = [];
  const stop = async (): Promise<void> => {
    for (const child of children.reverse()) await killGroup(child);
    rmSync(profile, { recursive: true, force: true, maxRetries: 10 });
  };
  try {
    const { display, name } = await startDisplay();
    children.push(display);
    const port = await freePort();
    const env = { ...process.env, HOME: profile, XDG_RUNTIME_DIR: profile, DISPLAY: name, GDK_BACKEND: 'x11' };
    const driver = spawn(DRIVER, [`--port=${port}`], { env, detached: true, stdio: 'ignore' });
    children.push(driver);
    const call = callerOf(`http://127.0.0.1:${port}`);
    await untilPasses(async () => void (await call('GET', '/status')));
    return await startSession(call, features, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The processes of a browser are in the group of the driver, which would leave them behind. */
async function killGroup(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  process.kill(-child.pid, 'SIGTERM');
  await ended;
}

/** Ends by itself when its last program has ended. */
async function startDisplay(): Promise<{ display: ChildProcess; name: string }> {
  const args = ['-displayfd', '3', '-screen', '0', '1280x1024x24', '-nolisten', 'tcp', '-terminate'];
  const display = spawn(DISPLAY, args, { detached: true, stdio: ['ignore', 'ignore', 'ignore', 'pipe'] });
  const lines = createInterface(display.stdio[3] as Readable);
  const [number] = await Promise.race([once(lines, 'line'), once(lines, 'close')]);
  if (number === undefined) throw new Error(`${DISPLAY} ended`);
  return { display, name: `:${number}` };
}

// biome-ignore lint/suspicious/noExplicitAny: a value of every shape
type Call = (method: 'GET' | 'POST' | 'DELETE', path: string, body?: object, signal?: AbortSignal) => Promise<any>;

const callerOf =
  (origin: string): Call =>
  async (method, path, body, signal) => {
    const init = { method, ...(body !== undefined && { body: JSON.stringify(body) }), ...(signal && { signal }) };
    const response = await fetch(`${origin}${path}`, init);
    const { value } = JSON.parse(await response.text());
    if (!response.ok) throw new Error(`${value.error}: ${value.message}`);
    return value;
  };

async function startSession(call: Call, features: string, stop: () => Promise<void>): Promise<DrivenBrowser> {
  const args = ['--automation', ...(features === '' ? [] : [`--features=${features}`])];
  const { sessionId, capabilities } = await call('POST', '/session', {
    capabilities: {
      alwaysMatch: {
        acceptInsecureCerts: true,
        // The driver would wait forever for a page that opens in another process after a step back.
        pageLoadStrategy: 'none',
        'webkitgtk:browserOptions': { args },
      },
    },
  });
  const path = `/session/${sessionId}`;
  const post = (command: string, body: object, signal?: AbortSignal): ReturnType<Call> =>
    call('POST', `${path}/${command}`, body, signal);
  let entered: Where | undefined;
  /** Only where needed, because it takes the focus from the element that has it. */
  const enter = async (where: Where): Promise<void> => {
    if (entered === where) return;
    entered = undefined;
    await post('frame', { id: null });
    if (where === 'frame') await post('frame', { id: 0 });
    entered = where;
  };
  const evaluate = async (expression: string, where: Where, withinMs = ANSWERS_WITHIN_MS): Promise<unknown> => {
    await enter(where);
    const script = `const [done] = arguments;
      ${toJsonExpression(expression)}.then((json) => done({ json }), (error) => done({ error: String(error) }));`;
    const { json, error } = await post('execute/async', { script, args: [] }, AbortSignal.timeout(withinMs));
    if (error !== undefined) throw new Error(error);
    return JSON.parse(json);
  };
  let leaves = 0;
  /** Does what loads another page, and waits for it. A page that was kept has an older mark. */
  const leave = async (command: string, body: object): Promise<void> => {
    const mark = ++leaves;
    await evaluate(`void (window.mark = ${mark})`, 'page');
    await post(command, body);
    const isThere = `window.mark !== ${mark} && document.readyState === "complete"`;
    await untilPasses(async () => assert.equal(await evaluate(isThere, 'page', ANSWERS_WHILE_LEAVING_MS), true));
  };
  return {
    release: `${capabilities.browserName} ${capabilities.browserVersion}`,
    open: (url) => leave('url', { url }),
    back: () => leave('back', {}),
    evaluate: async <Value>(expression: string, where: Where = 'page') => (await evaluate(expression, where)) as Value,
    // Its actions take the places in a frame for places in the page.
    click: async (selector, where = 'page') => {
      await enter(where);
      const [element] = Object.values(await post('element', { using: 'css selector', value: selector }));
      await post(`element/${element}/click`, {});
    },
    press: async (keys, where = 'page') => {
      await enter(where);
      await post('actions', { actions: toStrokes(keys) });
    },
    close: async () => {
      await call('DELETE', path).catch(() => undefined);
      await stop();
    },
  };
}
