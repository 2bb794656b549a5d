import { assertDisplayable } from '../kernel/displayable.ts';
import { Failure } from '../kernel/failure.ts';
import { OperatorError } from '../kernel/operator-error.ts';
import type { CliContext } from './context.ts';
import { operatorView } from './operator-identity.ts';

/** A mistake in a command; its message is for the operator who typed it. */
export class UsageError extends OperatorError {
  override readonly name = 'UsageError';
  override readonly isUsageError = true;
}

/** Exit codes of every command. */
export const EXIT = { done: 0, failed: 1, usageError: 2 } as const;

/**
 * Prints one JSON document, or text for operators. The document of a command that left an audit record names the
 * operator.
 */
export function printResult(tools: CliContext, json: boolean | undefined, value: unknown, human: string): void {
  const recorded = tools.recordedOperator();
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  const document = recorded !== undefined && isObject ? { ...value, recorded_operator: operatorView(recorded) } : value;
  tools.out(json === true ? `${JSON.stringify(document, null, 2)}\n` : `${human}\n`);
}

/** Returns a name that the operator chose, which must be displayable. */
export const parseName = (text: string, max: number, what: string): string => {
  if (text === '' || [...text].length > max || /\p{Cc}/u.test(text))
    throw new UsageError(`${what}: expected 1 to ${max} characters`);
  try {
    assertDisplayable(text, what);
  } catch (error) {
    throw error instanceof Failure ? new UsageError(error.message) : error;
  }
  return text;
};

/** Formats columns as wide as their widest cell. */
export function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return [line(head), ...rows.map(line)].join('\n');
}

/** Formats lines of `name  value`. */
export function formatDetails(pairs: readonly (readonly [string, string])[]): string {
  const width = Math.max(...pairs.map(([name]) => name.length));
  return pairs.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n');
}
