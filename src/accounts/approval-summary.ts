import { escapeInvisible } from '../kernel/displayable.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { SummaryLine } from './approval.ts';

/** Lines of bounded number and length, of which every sign is seen; what has no value is not told. */
export const toSummaryLines = (lines: readonly (readonly [name: string, value: string | undefined])[]): SummaryLine[] =>
  lines
    .flatMap(([name, value]) => (value === undefined ? [] : [{ name, value: short(escapeInvisible(value)) }]))
    .slice(0, LIMITS.summaryLines);

/** As many of the lines as lists show: the first ones, each whole. */
export function truncateSummary(lines: readonly SummaryLine[]): readonly SummaryLine[] {
  let characters = 0;
  const end = lines.findIndex(({ name, value }) => {
    characters += name.length + value.length;
    return characters > LIMITS.summaryCharactersListed;
  });
  return end < 0 ? lines : lines.slice(0, end);
}

const short = (text: string): string => {
  const characters = [...text];
  const max = LIMITS.summaryCharacters;
  return characters.length <= max ? text : `${characters.slice(0, max - 1).join('')}…`;
};
