import { isNetwork, parseNetwork } from './network.ts';

/** Entry of an allow-list as the user types it. */
export interface AllowListEntry {
  readonly cidr: string;
  readonly note: string;
}

/** Loopback addresses. Programs that call `localhost` use either. */
const LOOPBACK = ['127.0.0.1', '::1'];

/** Returns the networks that the machine at this address needs. */
export const listNetworksOfMachine = (address: string): readonly string[] =>
  LOOPBACK.includes(address) ? LOOPBACK : [address];

interface ParsedList {
  readonly rows: readonly AllowListEntry[];
  /** Numbers of the invalid lines, from 1. */
  readonly invalidLines: readonly number[];
}

/**
 * Parses one line: a network with an optional note, or several networks. Several networks followed by words are
 * invalid: a note must not allow an address, and an address must not become a note.
 */
function parseLine(line: string): AllowListEntry[] | undefined {
  const [, cidr = '', note = ''] = /^\s*([^\s,;#]*)[\s,;#]*(.*?)\s*$/.exec(line) ?? [];
  if (cidr === '') return [];
  const all = line.split(/[\s,;]+/).filter((part) => part !== '');
  if (all.every(isNetwork)) return all.map((each) => ({ cidr: each, note: '' }));
  const isPlain = isNetwork(cidr) && !isNetwork(all[1] ?? '');
  return isPlain ? [{ cidr, note }] : undefined;
}

/** Skips empty lines and lines that begin with #. */
export function parseList(text: string): ParsedList {
  const rows: AllowListEntry[] = [];
  const invalidLines: number[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const read = parseLine(line);
    if (read === undefined) invalidLines.push(index + 1);
    else rows.push(...read);
  }
  return { rows, invalidLines };
}

/** Returns true when both texts mean the same network. */
export function isSameNetwork(one: string, other: string): boolean {
  if (one.trim() === other.trim()) return true;
  const meaning = parseNetwork(one)?.network;
  return meaning !== undefined && meaning === parseNetwork(other)?.network;
}

/** Adds entries whose network is not in the list yet. */
export function mergeEntries(rows: readonly AllowListEntry[], added: readonly AllowListEntry[]): AllowListEntry[] {
  const result = rows.filter(({ cidr }) => cidr.trim() !== '');
  for (const row of added) if (!result.some(({ cidr }) => isSameNetwork(cidr, row.cidr))) result.push(row);
  return result;
}

/** Returns true when an entry allows a very wide network. */
export const hasWideNetwork = (rows: readonly AllowListEntry[]): boolean =>
  rows.some(({ cidr }) => parseNetwork(cidr)?.isWide === true);
