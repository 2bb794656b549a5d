import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { LIMITS } from '../../src/kernel/limits.ts';
import { order, PAYMENTS } from '../interface/payment-requests.ts';
import { openBrowser } from './browser.ts';
import { newApiClient, storeCaptures, storeCards } from './seed-data.ts';
import { type SeededService, startSeededService } from './seeded-service.ts';
import { type Stop, seededUsers, stopsIn, visit } from './tour.ts';

/**
 * Measures how long each page of the console takes in a real browser, for an account that has more than one page of each
 * list:
 *
 *     node bin/cardvault.mjs --run test/browser/page-times.ts [name of a page …]
 *
 * `within` is the time after a link was followed, `loaded` the time after the address was entered, with the files of the
 * console in the cache of the browser; both end when the page reads nothing more. Prints the median of some rounds in
 * milliseconds, the slowest page first. The exit code is 1 when a page takes longer than the target. Nothing else may run
 * on the machine.
 */

const TARGET_MS = 500;
const ROUNDS = 5;

/** Pages with little data, from which the others are opened. */
const STARTS = ['/profile', '/alerts'] as const;

/** True when the page is complete. */
const IS_COMPLETE = `(document.title !== '' && document.querySelector('h1') !== null &&
  document.querySelector('[aria-busy="true"], .mantine-Skeleton-root, .mantine-Loader-root') === null)`;

/** Notes the time since the navigation at which the page was complete first. */
const WATCH_LOAD = `{
  const check = () => {
    if (document.documentElement !== null && ${IS_COMPLETE}) window.completeAt = performance.now();
    else requestAnimationFrame(check);
  };
  requestAnimationFrame(check);
}`;

const LOADED = `new Promise((resolve) => {
  const check = () => (window.completeAt === undefined ? setTimeout(check, 5) : resolve(window.completeAt));
  check();
})`;

const moveWithin = (path: string): string => `new Promise((resolve) => {
  document.title = '';
  const begin = performance.now();
  history.pushState(null, '', ${JSON.stringify(path)});
  dispatchEvent(new PopStateEvent('popstate', { state: null }));
  const check = () => (${IS_COMPLETE} ? resolve(performance.now() - begin) : requestAnimationFrame(check));
  requestAnimationFrame(check);
})`;

/** More records than a page of a list shows. */
async function fillLists({ service, harbour }: SeededService): Promise<void> {
  const { secret } = await service.newKey(harbour.account, { name: 'Page times' });
  const send = newApiClient(service, secret, 'sandbox', 'page-times');
  for (let count = 0; count <= LIMITS.recordsPerPage; count++) {
    const response = await send(PAYMENTS, order('payment', { amount: 20 + count, reference: `PT-${count}` }));
    assert.equal(response.status, 200, response.text);
    if (count % 4 === 0) await storeCards(send, count);
    if (count % 4 === 1) await storeCaptures(send);
  }
}

interface PageTimes {
  readonly name: string;
  readonly withinMs: number;
  readonly loadedMs: number;
}

const medianOf = (times: readonly number[]): number => times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0;

async function measurePage(page: Page, { name, path }: Stop): Promise<PageTimes> {
  const within: number[] = [];
  const loaded: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await page.goto(path);
    loaded.push(await page.evaluate<number>(LOADED));
    // The data that was read before is gone.
    await visit(page, path === STARTS[0] ? STARTS[1] : STARTS[0]);
    within.push(await page.evaluate<number>(moveWithin(path)));
  }
  return { name, withinMs: medianOf(within), loadedMs: medianOf(loaded) };
}

const selected = process.argv.slice(2);
const seeded = await startSeededService();
const { service } = seeded;
const browser = await openBrowser(service.ports.console, { isMeasured: true });
const times: PageTimes[] = [];
try {
  await fillLists(seeded);
  const pages = new Map<string, Page>();
  for (const stop of stopsIn(seeded).filter(({ name }) => selected.length === 0 || selected.includes(name))) {
    const known = pages.get(stop.who);
    const page = known ?? (await seededUsers(seeded)[stop.who].visit(browser)).page;
    if (known === undefined) {
      await page.addInitScript(WATCH_LOAD);
      // The files get into the cache, and the process of the pages compiles them.
      await visit(page, stop.path);
      pages.set(stop.who, page);
    }
    times.push(await measurePage(page, stop));
  }
} finally {
  await browser.close();
  await service.stop();
}

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const slowestOf = ({ withinMs, loadedMs }: PageTimes): number => Math.max(withinMs, loadedMs);
const row = (name: string, ...cells: readonly string[]): string =>
  `${name.padEnd(24)}${cells.map((cell) => cell.padStart(10)).join('')}`;
const missed = times.filter((page) => slowestOf(page) > TARGET_MS);
print(row('page', 'within ms', 'loaded ms'));
for (const page of times.toSorted((one, other) => slowestOf(other) - slowestOf(one)))
  print(row(page.name, page.withinMs.toFixed(0), page.loadedMs.toFixed(0)));
print(`${times.length - missed.length} of ${times.length} pages within ${TARGET_MS} ms`);
process.exitCode = missed.length > 0 || times.length === 0 ? 1 : 0;
