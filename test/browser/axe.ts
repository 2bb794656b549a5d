import axe, { type AxeResults } from 'axe-core';
import type { CDPSession } from 'playwright-core';

const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** What axe-core finds wrong with the page as it is shown now, one readable piece for each rule. */
export async function accessibilityViolations(session: CDPSession): Promise<string[]> {
  const run = `axe.run(document, { runOnly: ${JSON.stringify(TAGS)}, resultTypes: ['violations'] })`;
  // As a debugger does it: the policy of the page lets no foreign script in.
  await evaluate(session, `globalThis.axe ??= (() => { ${axe.source}; return globalThis.axe; })(); undefined`);
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
