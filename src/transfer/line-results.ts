import { truncatePan } from '../kernel/pan.ts';
import type { ImportResult } from '../vault/import-tokens.ts';
import { SCHEMES } from '../vault/scheme.ts';
import type { CardLine } from './card-source.ts';
import { TransferError } from './transfer-error.ts';

/** The result of one line of an import. */
export type LineResult =
  | Exclude<ImportResult, { status: 'rejected' }>
  | { readonly status: 'rejected'; readonly field: string; readonly code: string };

export type LineStatus = LineResult['status'];

const LETTERS: Readonly<Record<LineStatus, string>> = { created: 'c', existing: 'e', conflict: 'k', rejected: 'r' };
const STATUSES = new Map(Object.entries(LETTERS).map(([status, letter]) => [letter, status as LineStatus]));

const wantedOf = ({ parsed }: CardLine): string | undefined => ('card' in parsed ? parsed.card.wanted : undefined);

/**
 * Formats the results of a batch for its row: a line for each with the letter of the status. A token that the line wants
 * is left out, because the file has it.
 */
export const formatResults = (lines: readonly CardLine[], results: readonly LineResult[]): string =>
  results
    .map((result, index) => {
      const letter = LETTERS[result.status];
      if (result.status === 'rejected') return `${letter}${result.field} ${result.code}`;
      const line = lines[index];
      return line !== undefined && wantedOf(line) === result.token ? letter : letter + result.token;
    })
    .join('\n');

/** Throws `TransferError` when the text is none of this batch. */
export function parseResults(lines: readonly CardLine[], stored: string): LineResult[] {
  const texts = stored.split('\n');
  if (texts.length !== lines.length) throw alteredProgress();
  return lines.map((line, index) => parseResult(line, texts[index] ?? ''));
}

function parseResult(line: CardLine, text: string): LineResult {
  const status = STATUSES.get(text.slice(0, 1));
  const rest = text.slice(1);
  if (status === undefined) throw alteredProgress();
  if (status === 'rejected') {
    const [field = '', code = ''] = rest.split(' ');
    return { status, field, code };
  }
  const token = rest === '' ? wantedOf(line) : rest;
  if (token === undefined) throw alteredProgress();
  return { status, token };
}

export const alteredProgress = (): TransferError =>
  new TransferError('the progress of the import was altered in the database', { isUsageError: false });

export const MAPPING_HEAD = 'line,card,wanted,token,status\n';
export const REJECTS_HEAD = 'line,field,code\n';

/** Formats the line of the mapping. No value of the file that may be a card number is in it. */
export function formatMapping(line: CardLine, result: LineResult): string {
  const { parsed } = line;
  const pan = 'card' in parsed ? parsed.card.card.pan : parsed.pan;
  const token = result.status === 'rejected' ? '' : result.token;
  return `${line.number},${pan === undefined ? '' : truncatePan(pan)},${shownWanted(line, result)},${token},${result.status}\n`;
}

/** A wanted value of a rejected line may be anything, and one of scheme 8 that is not a token may be a card number. */
function shownWanted({ parsed }: CardLine, result: LineResult): string {
  if (!('card' in parsed) || result.status === 'rejected') return '';
  const { wanted = '', format } = parsed.card;
  return result.token === wanted || !SCHEMES[format.scheme].readsAsPan ? wanted : '';
}

export const formatReject = ({ number }: CardLine, { field, code }: { field: string; code: string }): string =>
  `${number},${field},${code}\n`;
