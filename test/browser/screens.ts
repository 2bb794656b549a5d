import { readFileSync } from 'node:fs';
import { formatJoinUrl } from '../../console/cli.ts';
import { OPERATOR } from '../../console/people/roles.ts';
import { showHealth } from '../../console/wire/operator.ts';
import { DAY, formatIso8601 } from '../../src/kernel/clock.ts';
import { type ColorScheme, openBrowser, type Visitor } from './browser.ts';
import { startSeededService } from './seeded-service.ts';
import { enterPassword, followLink } from './sign-in-steps.ts';
import { seededUsers, settled, stopsIn, visit } from './tour.ts';

/**
 * Takes the pictures in docs/console that the documents refer to:
 *
 *     node bin/cardvault.mjs --run test/browser/screens.ts [name of a page …]
 */

/**
 * Fixed, so that pictures change only when pages do. It has to be at least three weeks after the date of the machine,
 * because the service does not accept a clock that goes back.
 */
const TODAY = Date.parse('2027-05-12T15:40:00Z');

const REFERENCES = ['docs/console.md', 'README.md'].map((file) => readFileSync(file, 'utf8')).join('\n');

/** Returns the schemes in which a document shows the picture; none for pictures without a reference. */
const listSchemes = (name: string): ColorScheme[] =>
  (['light', 'dark'] as const).filter((scheme) => REFERENCES.includes(`console/${name}-${scheme}.webp`));

process.env['UPDATE_SCREENSHOTS'] = 'yes';
const selected = process.argv.slice(2);
const isWanted = (name: string): boolean => selected.length === 0 || selected.includes(name);
const filled = await startSeededService(TODAY);
const { service } = filled;
const browser = await openBrowser(service.ports.console);
const fixTime = ({ page }: Visitor): Promise<void> => page.clock.setFixedTime(service.now());
try {
  const visitors = new Map<string, Visitor>();
  for (const { name, who, path } of stopsIn(filled).filter(({ name }) => isWanted(name))) {
    const visitor = visitors.get(who) ?? (await seededUsers(filled)[who].visit(browser));
    visitors.set(who, visitor);
    await fixTime(visitor);
    if (name === 'operator-health') await sameHealth(visitor);
    await visit(visitor.page, path);
    await visitor.takePictures(name, listSchemes(name));
    if (name === 'overview') await charts(visitor);
  }
  if (selected.length === 0) await waysIn(await browser.newVisitor());
} finally {
  await browser.close();
  await service.stop();
}

/** Further down on the same page. */
async function charts(visitor: Visitor): Promise<void> {
  await visitor.page
    .getByRole('heading', { name: 'Over time' })
    .evaluate((heading: { scrollIntoView?(): void }) => heading.scrollIntoView?.());
  // The bar at the top stands before what is below it.
  await visitor.page.evaluate('scrollBy(0, -100)');
  await visitor.takePictures('overview-charts', listSchemes('overview-charts'));
}

/** Values that no clock of ours controls: the start of this process, and its resources. */
async function sameHealth({ page }: Visitor): Promise<void> {
  const health = await filled.operator.call(showHealth, {});
  const same = { ...health, started_at: formatIso8601(TODAY - 14 * DAY), memory_mib: 240 };
  await page.route('**/api/operator/health', (route) => route.fulfill({ json: same }));
}

/** Pages before the sign-in. */
async function waysIn(visitor: Visitor): Promise<void> {
  const { page } = visitor;
  const { harbour } = filled;
  await fixTime(visitor);
  await visit(page, '/sign-in');
  await visitor.takePictures('sign-in', listSchemes('sign-in'));
  await enterPassword(page, harbour.owner);
  await page.getByLabel('Code', { exact: true }).waitFor();
  await visitor.takePictures('sign-in-code', listSchemes('sign-in-code'));
  await page.context().clearCookies();
  const to = { account: harbour.account, role: 'owner', email: 'petra@harbour.example' } as const;
  const link = await service.core.transactions.run({ origin: { actor: { type: 'operator' } } }, (transaction) =>
    service.console.people.invitations.invite(transaction, to, OPERATOR),
  );
  const url = formatJoinUrl(browser.origin, link);
  await page.goto(url);
  await settled(page);
  await visitor.takePictures('join', listSchemes('join'));
  await page.goto('about:blank');
  await followLink(page, url, { name: 'Petra Novak', password: 'seven lamps over quiet water' });
  await visitor.takePictures('join-factor', listSchemes('join-factor'));
}
