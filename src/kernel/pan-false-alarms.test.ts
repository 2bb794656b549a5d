import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { containsIssuedPan, containsPan, containsPanOutsideUuids, passesLuhn } from './pan.ts';

/**
 * Measures how often names with a number that is no card number are rejected. Every text is drawn from a fixed seed, so
 * that the rates are the same on every run; they are printed and recorded in
 * docs/decisions/0029-card-numbers-in-texts.md.
 */

const HIGHEST_RATE = 0.01;
const TEXTS = 20_000;

/** Mulberry32: small, and the same on every machine. */
function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

type Draw = ReturnType<typeof seeded>;

const digits = (draw: Draw, count: number): string => Array.from({ length: count }, () => draw(10)).join('');
const number = (draw: Draw, count: number): string => `${1 + draw(9)}${digits(draw, count - 1)}`;
const pick = <T>(draw: Draw, list: readonly T[]): T => list[draw(list.length)] as T;

/** A time between 2015 and 2035, in milliseconds. */
const timeOf = (draw: Draw): number => Date.UTC(2015, 0, 1) + draw(20 * 365 * 86_400) * 1000 + draw(1000);

function isoTime(draw: Draw): string {
  const iso = new Date(timeOf(draw)).toISOString();
  const basic = iso.replace(/[-:]/g, '');
  return pick(draw, [
    iso,
    iso.replace('T', ' ').slice(0, 19),
    iso.replace('Z', '+05:30'),
    iso.slice(0, 10),
    basic,
    basic.slice(0, 15),
    basic.slice(0, 8),
    basic.replace(/[TZ.]/g, ''),
    basic.replace(/[TZ]/g, '').slice(0, 14),
    basic.replace(/[TZ]/g, '').slice(0, 12),
  ]);
}

function epochTime(draw: Draw): string {
  const at = timeOf(draw);
  return pick(draw, [String(Math.floor(at / 1000)), String(at), `${at}${digits(draw, 3)}`, `${at}${digits(draw, 6)}`]);
}

/** Country codes with the number of digits that follow (ITU-T E.164, mobile numbers of the national plans). */
const COUNTRIES: readonly (readonly [code: string, ...lengths: number[]])[] = [
  ...(['1', '1', '7'] as const).map((code) => [code, 10] as const),
  ['20', 10],
  ['27', 9],
  ['30', 10],
  ['31', 9],
  ['33', 9],
  ['34', 9],
  ['39', 10],
  ['40', 9],
  ['41', 9],
  ['43', 10, 11],
  ['44', 10],
  ['46', 9],
  ['48', 9],
  ['49', 10, 11],
  ['51', 9],
  ['52', 10, 11],
  ['53', 8],
  ['54', 10, 11],
  ['55', 10, 11],
  ['56', 9],
  ['57', 10],
  ['58', 10],
  ['60', 9, 10],
  ['61', 9],
  ['62', 9, 10, 11],
  ['63', 10],
  ['64', 8, 9],
  ['65', 8],
  ['66', 9],
  ['81', 10],
  ['82', 10],
  ['84', 9],
  ['86', 11],
  ['90', 10],
  ['91', 10],
  ['234', 10],
  ['254', 9],
  ['351', 9],
  ['353', 9],
  ['502', 8],
  ['503', 8],
  ['504', 8],
  ['506', 8],
  ['507', 8],
  ['591', 8],
  ['593', 9],
  ['595', 9],
  ['598', 8],
  ['966', 9],
  ['971', 9],
];

function telephone(draw: Draw): string {
  const [code, ...lengths] = pick(draw, COUNTRIES);
  const rest = number(draw, pick(draw, lengths));
  const inGroups = (rest.match(/.{1,3}(?=(?:.{3})*.{0,1}$)|.+/g) ?? []).join(pick(draw, [' ', '-']));
  return pick(draw, [`+${code}${rest}`, `${code}${rest}`, `+${code} ${inGroups}`, `+${code} ${rest}`]);
}

const ORDERS: readonly ((draw: Draw, count: number) => string)[] = [
  number,
  digits,
  (draw, count) => `ORD-${number(draw, count)}`,
  (draw, count) => `20${15 + draw(20)}${digits(draw, count - 4)}`,
  (draw, count) => `20${15 + draw(20)}-${digits(draw, count - 4)}`,
];
const order = (draw: Draw): string => pick(draw, ORDERS)(draw, 8 + draw(5));

/** The first digits of acquirers' merchant numbers, which have 8 to 15 digits and are assigned in sequence. */
const MERCHANTS = [
  ...['10012345', '0010203040', '1021005500', '700000012345', '800012345678', '878800123456', '8765500012345'],
  ...['000445123456000', '000980012345000', '101230045678000', '115500234567000', '223300456700000', '300010020030000'],
  ...['444500100200000', '498750012345000', '518089940200000', '542929804000000', '600123400567000', '650000012345000'],
  ...['765400012300000', '812345000670000', '887000123456000', '929801234500000', '999000123456000'],
];

function merchant(draw: Draw): string {
  const first = pick(draw, MERCHANTS);
  const id = String(BigInt(first) + BigInt(draw(100_000))).padStart(first.length, '0');
  return pick(draw, [id, `MID ${id}`, `Store ${1 + draw(99)} - ${id}`]);
}

const CORPUS: Readonly<Record<string, (draw: Draw) => string>> = {
  'ISO 8601 times': isoTime,
  'epoch times (s, ms, µs, ns)': epochTime,
  'E.164 numbers': telephone,
  'order numbers of 8 to 12 digits': order,
  'sequential merchant ids': merchant,
};

function textsOf(kind: (draw: Draw) => string, seed: number): string[] {
  const draw = seeded(seed);
  return Array.from({ length: TEXTS }, () => `till ${kind(draw)}`);
}

const rateOf = (texts: readonly string[], refuses: (text: string) => boolean): number =>
  texts.filter(refuses).length / texts.length;
const percent = (rate: number): string => `${(rate * 100).toFixed(2)} %`;

describe('a name with a number that is no card number', () => {
  const all: string[] = [];
  for (const [index, [name, kind]] of Object.entries(CORPUS).entries())
    it(`is rejected in fewer than one case in a hundred: ${name}`, (t) => {
      const texts = textsOf(kind, 1 + index);
      all.push(...texts);
      const rate = rateOf(texts, containsIssuedPan);
      t.diagnostic(`${name}: ${percent(rate)}; by the Luhn check alone ${percent(rateOf(texts, containsPan))}`);
      assert.ok(rate < HIGHEST_RATE, percent(rate));
    });

  it('is rejected in fewer than one case in a hundred in total', (t) => {
    const rate = rateOf(all, containsIssuedPan);
    t.diagnostic(`all: ${percent(rate)}; by the Luhn check alone ${percent(rateOf(all, containsPan))}`);
    assert.equal(all.length, TEXTS * Object.keys(CORPUS).length);
    assert.ok(rate < HIGHEST_RATE, percent(rate));
  });

  it('is rejected more often when the number has 16 random digits, which the test reports only', (t) => {
    const rate = rateOf(
      textsOf((draw) => number(draw, 16), 99),
      containsIssuedPan,
    );
    t.diagnostic(`random 16-digit numbers: ${percent(rate)}`);
    assert.ok(rate > 0);
  });
});

const hexDigits = (draw: Draw, count: number): string =>
  Array.from({ length: count }, () => draw(16).toString(16)).join('');
const uuidOf = (draw: Draw): string =>
  `${hexDigits(draw, 8)}-${hexDigits(draw, 4)}-4${hexDigits(draw, 3)}-${pick(draw, ['8', '9', 'a', 'b'])}${hexDigits(draw, 3)}-${hexDigits(draw, 12)}`;

it('a URL with a random UUID is never rejected', (t) => {
  const texts = textsOf((draw) => `https://shop.example.com/hooks/${uuidOf(draw)}`, 98);
  const luhnRate = rateOf(texts, containsPan);
  t.diagnostic(`random UUIDs: by the Luhn check alone ${percent(luhnRate)}`);
  assert.ok(luhnRate > 0.001);
  assert.equal(rateOf(texts, containsPanOutsideUuids), 0);
});

/**
 * First digits and lengths of what the schemes issue; the digits that follow are random, the last is the check digit.
 */
const ISSUED: readonly (readonly [scheme: string, first: readonly string[], lengths: readonly number[]])[] = [
  ['Visa', ['4'], [13, 16, 19]],
  ['Mastercard', ['51', '55', '2221', '2299', '23', '26', '271', '2720'], [16]],
  ['American Express', ['34', '37'], [15]],
  ['Discover', ['6011', '644', '649', '65'], [16, 17, 18, 19]],
  ['Diners Club', ['300', '305', '3095', '36', '38', '39'], [14, 16, 19]],
  ['JCB', ['3528', '3589'], [16, 17, 18, 19]],
  ['UnionPay', ['62', '81'], [16, 17, 18, 19]],
  ['Maestro', ['5018', '6304', '6761'], [12, 13, 14, 15, 16, 19]],
  ['Elo', ['431274', '509000', '627780', '636368', '650031'], [16]],
  ['Hipercard', ['606282', '384100'], [16]],
  ['Cabal, Naranja, Codensa', ['604201', '589657', '589562', '590712'], [16]],
  ['Mir', ['2200', '2204'], [16, 19]],
  ['RuPay', ['60', '65', '81', '82', '508'], [16]],
  ['Troy', ['9792'], [16]],
];

describe('a name with a card number', () => {
  for (const [scheme, firsts, lengths] of ISSUED)
    it(`is rejected: ${scheme}`, () => {
      const draw = seeded(7);
      for (const first of firsts)
        for (const length of lengths)
          for (let round = 0; round < 20; round++) {
            const begin = first + digits(draw, length - first.length - 1);
            const card = [...'0123456789'].map((check) => begin + check).find(passesLuhn) ?? '';
            const groups = (card.match(/.{1,4}/g) ?? []).join(pick(draw, [' ', '-']));
            for (const text of [card, `till ${card}`, groups, `12 ${groups}`]) assert.ok(containsIssuedPan(text), text);
            const wrong = begin + ((Number(card.at(-1)) + 1) % 10);
            assert.equal(containsIssuedPan(`till ${wrong}`), false, wrong);
          }
    });

  it('is rejected in no other length, and with no other first digits, although the Luhn check passes', () => {
    for (const begin of [
      '57300123456',
      '41111111111',
      '170000000000',
      '52551234567',
      '10123004567800',
      '1700000000000000',
    ])
      for (const check of '0123456789') {
        const text = `till ${begin}${check}`;
        if (!passesLuhn(begin + check)) continue;
        assert.ok(containsPan(text), text);
        assert.equal(containsIssuedPan(text), false, text);
      }
  });
});
