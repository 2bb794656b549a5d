import type { Page } from 'playwright-core';
import type { SeededService } from './seeded-service.ts';

/** Every page behind the sign-in, whose it is, and its one heading. */

export type Who = 'owner' | 'developer' | 'analyst' | 'auditor' | 'newcomer' | 'operator';

export interface Stop {
  /** The name of its picture. */
  readonly name: string;
  readonly who: Who;
  readonly path: string;
  readonly heading: string | RegExp;
}

/** How the service fills a tour. */
export function stopsIn({ harbour, northwind }: SeededService): readonly Stop[] {
  const account = `/a/${harbour.account}`;
  const sandbox = `${account}/sandbox`;
  const payment = (reference: string): string => `${sandbox}/payments/${harbour.payments.get(reference)}`;
  const of = (who: Who, name: string, path: string, heading: string | RegExp): Stop => ({ name, who, path, heading });
  return [
    of('owner', 'overview', `${sandbox}/overview`, 'Overview'),
    of('owner', 'payments', `${sandbox}/payments`, 'Payments'),
    // A test refunds some more of it.
    of('owner', 'payment', payment('HB-1003'), /89\.50|80\.00/),
    of('owner', 'payment-doubtful', payment('HB-1021'), /66,000\.00/),
    of('owner', 'tokens', `${sandbox}/tokens`, 'Tokens'),
    of('owner', 'token', `${sandbox}/tokens/${harbour.token}`, 'Token'),
    of('owner', 'captures', `${sandbox}/captures`, 'Temporary card data'),
    of('owner', 'capture', `${sandbox}/captures/${harbour.capture}`, 'Temporary card data'),
    of('owner', 'card-form', `${sandbox}/card-form`, 'Card form'),
    of('owner', 'keys', `${sandbox}/keys`, 'API keys'),
    of('owner', 'keys-production', `${account}/production/keys`, 'API keys'),
    of('owner', 'requests', `${sandbox}/requests`, 'Request log'),
    of('owner', 'webhooks', `${sandbox}/webhooks`, 'Webhooks'),
    of('owner', 'webhook', `${sandbox}/webhooks/${harbour.webhook}`, 'Webhook'),
    of('owner', 'proxy', `${sandbox}/proxy`, 'Proxy'),
    of('owner', 'test-payment', `${sandbox}/test-payment`, 'Send a test payment'),
    of('owner', 'workbench', `${sandbox}/workbench`, 'Workbench'),
    of('owner', 'onboarding', `${account}/onboarding`, 'Onboarding'),
    of('owner', 'team', `${account}/team`, 'Team'),
    of('owner', 'approvals', `${account}/approvals`, 'Approvals'),
    of('owner', 'audit', `${account}/audit`, 'Audit log'),
    of('owner', 'settings', `${account}/settings`, 'Settings'),
    of('owner', 'profile', '/profile', 'Profile'),
    of('owner', 'alerts', '/alerts', 'Alerts'),
    of('newcomer', 'onboarding-new', `/a/${northwind.account}/onboarding`, 'Onboarding'),
    of('newcomer', 'overview-new', `/a/${northwind.account}/sandbox/overview`, 'Overview'),
    of('newcomer', 'keys-new', `/a/${northwind.account}/sandbox/keys`, 'API keys'),
    of('operator', 'operator-accounts', '/operator/accounts', 'Accounts'),
    of('operator', 'operator-account', `/operator/accounts/${harbour.account}`, 'Harbour Books'),
    of('operator', 'operator-overview', '/operator/overview', 'All accounts'),
    of('operator', 'operator-requests', '/operator/requests', 'Activation requests'),
    of('operator', 'operator-processors', '/operator/processors', 'Processors'),
    of('operator', 'operator-keyring', '/operator/keyring', 'Encryption keys'),
    of('operator', 'operator-health', '/operator/health', 'Health'),
    of('operator', 'operator-request-log', '/operator/request-log', 'Request log'),
    of('operator', 'operator-audit', '/operator/audit', 'Audit log of the service'),
    of('operator', 'operator-team', '/operator/team', 'Operators'),
  ];
}

export const seededUsers = ({ harbour, northwind, operator }: SeededService) => ({
  ...harbour,
  newcomer: northwind.owner,
  operator,
});

/** Until nothing of the page is still being read. */
export async function settled(page: Page): Promise<void> {
  await page.locator('h1').first().waitFor();
  await page
    .locator('[aria-busy="true"], .mantine-Skeleton-root, .mantine-Loader-root')
    .first()
    .waitFor({ state: 'detached' });
}

export async function visit(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await settled(page);
}

/** Navigates as links do, without reloading the application. */
export async function visitWithin(page: Page, path: string): Promise<void> {
  await page.evaluate(
    `history.pushState(null, '', ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent('popstate', { state: null }))`,
  );
}

/**
 * Does the same and waits for the page: each page announces its name, so the previous one is not checked by mistake.
 * Not for the same page in the other environment, which has the same name.
 */
export async function moveTo(page: Page, path: string): Promise<void> {
  const isThere = page.url().endsWith(path);
  if (!isThere) await page.evaluate("document.title = ''");
  await visitWithin(page, path);
  await page.locator('head > title:not(:empty)').waitFor({ state: 'attached' });
  await settled(page);
}

/** The page is there, under this one heading. */
export const headed = (page: Page, heading: string | RegExp): Promise<void> =>
  page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor();
