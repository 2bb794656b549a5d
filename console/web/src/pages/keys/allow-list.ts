import { isNetwork, parseNetwork } from './network.ts';

/** An allow-list as people type it. */
export interface AllowListEntry {
  readonly cidr: string;
  readonly note: string;
}

/** Of this machine: which of them a program that calls `localhost` comes from is up to the program. */
const LOOPBACK = ['127.0.0.1', '::1'];

/** What has to be on the list for the machine at this address. */
export const listNetworksOfMachine = (address: string): readonly string[] =>
  LOOPBACK.includes(address) ? LOOPBACK : [address];

export interface ParsedList {
  readonly rows: readonly AllowListEntry[];
  /** Numbers of the lines that are none, from 1. */
  readonly invalidLines: readonly number[];
}

/**
 * Networks of one line: one and after it whatever explains it, or several and nothing else. Several with words after them
 * are none: what was meant as a note must not let anybody in, and what was meant as an address must not become a note.
 */
function parseLine(line: string): AllowListEntry[] | undefined {
  const [, cidr = '', note = ''] = /^\s*([^\s,;#]*)[\s,;#]*(.*?)\s*$/.exec(line) ?? [];
  if (cidr === '') return [];
  const all = line.split(/[\s,;]+/).filter((part) => part !== '');
  if (all.every(isNetwork)) return all.map((each) => ({ cidr: each, note: '' }));
  const isPlain = isNetwork(cidr) && !isNetwork(all[1] ?? '');
  return isPlain ? [{ cidr, note }] : undefined;
}

/** Empty lines and those that begin with # are left out. */
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

/** Two that mean the same are one, however they are written. */
export function isSameNetwork(one: string, other: string): boolean {
  if (one.trim() === other.trim()) return true;
  const meaning = parseNetwork(one)?.network;
  return meaning !== undefined && meaning === parseNetwork(other)?.network;
}

/** Without networks that are there already. */
export function mergeEntries(rows: readonly AllowListEntry[], added: readonly AllowListEntry[]): AllowListEntry[] {
  const result = rows.filter(({ cidr }) => cidr.trim() !== '');
  for (const row of added) if (!result.some(({ cidr }) => isSameNetwork(cidr, row.cidr))) result.push(row);
  return result;
}

/** Does one of them let in more than anybody has servers in? */
export const hasWideNetwork = (rows: readonly AllowListEntry[]): boolean =>
  rows.some(({ cidr }) => parseNetwork(cidr)?.isWide === true);
