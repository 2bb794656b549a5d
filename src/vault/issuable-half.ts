import type { KeyObject } from 'node:crypto';
import { blockFunction } from '../crypto/aes.ts';
import { maxBinWidth } from './scheme.ts';

/**
 * A Feistel network needs four rounds to be a strong pseudo-random permutation and more when its halves are small. The
 * smallest halves here have four values.
 */
const ROUNDS = 16;
const LAST = 4;
/** The remainder by a half of at most 1,000 values is uniform up to one part in 2^38. */
const VALUE_BYTES = 6;
const BLOCK_BYTES = 16;

/**
 * The Luhn-valid values that one tenant may ever issue: exactly one half of the values that share length, BIN and last
 * four, chosen by a key and not by any card number. Without it, an attacker who fills a space with tokens reads the one
 * value that was skipped, which is a stored card number. The half depends on the value alone (its widest BIN counts,
 * whatever BIN width a request has), so that both BIN widths issue the same half.
 */
export class IssuableHalf {
  readonly #value: (block: Uint8Array) => Buffer;
  /** Length, BIN and last four of the space that was used last, then the round and its input. */
  readonly #block = Buffer.alloc(BLOCK_BYTES);
  #space = '';
  /** The round functions of that space, computed on demand: a search reads all values of a space. */
  readonly #known = new Map<number, number>();

  /** The key must be the same for as long as the tenant exists. */
  constructor(key: KeyObject) {
    this.#value = blockFunction(key);
  }

  /** Returns whether a value may be issued. It has to pass the Luhn check. */
  has(token: string): boolean {
    const bin = maxBinWidth(token.length);
    const hidden = token.slice(bin, -LAST);
    // The Luhn check decides the last hidden digit, so the others number the values of the space.
    const count = 10 ** (hidden.length - 1);
    this.#useSpace(token.length, token.slice(0, bin), token.slice(-LAST));
    return this.#rank(Number(hidden.slice(0, -1)), count) < count / 2;
  }

  #useSpace(length: number, head: string, tail: string): void {
    const space = `${length}/${head}/${tail}`;
    if (space === this.#space) return;
    this.#block.writeUInt8(length, 0);
    this.#block.writeUInt32BE(Number(head), 1);
    this.#block.writeUInt16BE(Number(tail), 5);
    this.#known.clear();
    this.#space = space;
  }

  /** Permutes the numbers below `count`: those that leave the range of the network are permuted again (cycle walking). */
  #rank(index: number, count: number): number {
    const side = Math.ceil(Math.sqrt(count));
    let rank = index;
    do rank = this.#permute(rank, side);
    while (rank >= count);
    return rank;
  }

  /** A balanced Feistel network over pairs of numbers below `side`, with addition in place of exclusive or. */
  #permute(value: number, side: number): number {
    let left = Math.floor(value / side);
    let right = value % side;
    for (let round = 0; round < ROUNDS; round++) {
      [left, right] = [right, (left + this.#roundValue(round, right, side)) % side];
    }
    return left * side + right;
  }

  #roundValue(round: number, right: number, side: number): number {
    const name = round * side + right;
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    this.#block.writeUInt8(round, 7);
    this.#block.writeUInt32BE(right, 8);
    const value = this.#value(this.#block).readUIntBE(0, VALUE_BYTES) % side;
    this.#known.set(name, value);
    return value;
  }
}
