import { createHash } from 'node:crypto';
import type { Database } from '../storage/database.ts';
import type { Head } from '../storage/journal.ts';
import { listChainHeads } from './chain-reader.ts';

export interface HeadsDigest {
  readonly chains: number;
  /** SHA-256, in hexadecimal, over a line for each chain, ordered by account and lane. */
  readonly digest: string;
}

/** Returns a short digest of all heads, to store elsewhere; `onHead` is called with each of them. */
export async function digestChainHeads(database: Database, onHead: (head: Head) => void): Promise<HeadsDigest> {
  const hash = createHash('sha256');
  let chains = 0;
  for await (const head of listChainHeads(database)) {
    hash.update(`${head.account} ${head.lane} ${head.sequence} ${head.hash}\n`);
    onHead(head);
    chains++;
  }
  return { chains, digest: hash.digest('hex') };
}
