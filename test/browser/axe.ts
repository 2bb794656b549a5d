import axe, { type AxeResults } from 'axe-core';
import type { CDPSession } from 'playwright-core';
import { inScope, isLong } from '../scope.ts';

const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** Rows of a table are made by the same component: `npm test` checks the first of them. */
const toCheck = ({ part, isFramed = false }: Pick<Checked, 'part' | 'isFramed'>): object => ({
  ...inScope<object>({
    usual: { include: [part], exclude: ['tbody > tr:nth-child(n + 5)'] },
    long: { include: ['html'] },
  }),
  initiator: !isFramed,
});

/**
 * Looks at every style attribute, for a seventh of the time of all rules. The content security policy blocks such attributes
 * in the markup, and components set no letter spacing with them.
 */
const onlyLongRules = inScope<object>({ usual: { 'avoid-inline-spacing': { enabled: false } }, long: {} });

/** They look at where elements are drawn, and take as long as all other rules together. */
const rulesAboutDrawing = { 'color-contrast': { enabled: false }, 'target-size': { enabled: false } };

export interface Checked {
  /** A selector of what `npm test` checks; rules about a whole page need `html`. */
  readonly part: string;
  /** Without contrasts and the sizes of targets, in `npm test`: for components that another check has seen. */
  readonly isSeenElsewhere: boolean;
  /** Rules about a whole page, as that of its heading, hold for the page around a frame. */
  readonly isFramed?: boolean;
}

/** Returns axe-core's findings on the present page, one readable text for each rule. */
export async function accessibilityViolations(
  session: CDPSession,
  { part, isSeenElsewhere, isFramed = false }: Checked,
): Promise<string[]> {
  const rules = { ...onlyLongRules, ...(isSeenElsewhere && !isLong && rulesAboutDrawing) };
  const options = { runOnly: TAGS, resultTypes: ['violations'], rules, preload: false };
  const run = `axe.run(${JSON.stringify(toCheck({ part, isFramed }))}, ${JSON.stringify(options)})`;
  // Injected as by a debugger: the content security policy of the page blocks foreign scripts.
  if ((await evaluate(session, 'typeof axe')) === 'undefined') await evaluate(session, `(() => { ${axe.source} })()`);
  const { violations } = (await evaluate(session, run)) as AxeResults;
  return violations.map(({ id, impact, help, nodes }) =>
    [
      `${id} (${impact}): ${help}`,
      ...nodes.map(({ html, failureSummary }) => `  ${html}\n    ${failureSummary?.replaceAll('\n', '\n    ')}`),
    ].join('\n'),
  );
}

async function evaluate(session: CDPSession, expression: string): Promise<unknown> {
  const options = { expression, awaitPromise: true, returnByValue: true, allowUnsafeEvalBlockedByCSP: true };
  const { result, exceptionDetails } = await session.send('Runtime.evaluate', options);
  if (exceptionDetails !== undefined) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  return result.value;
}
