import { escapeInvisible } from '../kernel/displayable.ts';
import { LIMITS } from '../kernel/limits.ts';

/** A line that describes a change to its approver; never a secret. */
export interface SummaryLine {
  readonly name: string;
  readonly value: string;
}

/** Returns lines of limited number and length with invisible characters escaped; lines without a value are left out. */
export const toSummaryLines = (lines: readonly (readonly [name: string, value: string | undefined])[]): SummaryLine[] =>
  lines
    .flatMap(([name, value]) => (value === undefined ? [] : [{ name, value: truncate(escapeInvisible(value)) }]))
    .slice(0, LIMITS.summaryLines);

const truncate = (text: string): string => {
  const characters = [...text];
  const max = LIMITS.summaryCharacters;
  return characters.length <= max ? text : `${characters.slice(0, max - 1).join('')}…`;
};
