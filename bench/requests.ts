import { randomInt } from 'node:crypto';
import { hashed, purchaseInJson, purchaseInXml } from './payloads.ts';

/** The requests of a scenario: one body for each, or none. */
export type Shape =
  | 'card'
  | 'hundred cards'
  | 'capture'
  | 'authorization'
  | 'purchase in JSON'
  | 'purchase in XML'
  | 'hashed'
  | 'hashed with placeholders'
  | 'none';

export interface Plan {
  readonly name: string;
  readonly method: 'GET' | 'POST';
  /** `{id}` stands for one id after the other. */
  readonly path: string;
  readonly shape: Shape;
  /** In the path, or in the placeholders of the body. */
  readonly ids: readonly string[];
  /** The header of the API key. */
  readonly keyHeader: 'x-api-key' | 'ft-access-key';
  readonly secret: string;
}

const PREPARED: Readonly<Record<Shape, number>> = {
  card: 20_000,
  'hundred cards': 400,
  capture: 20_000,
  authorization: 20_000,
  'purchase in JSON': 10_000,
  'purchase in XML': 10_000,
  hashed: 100,
  'hashed with placeholders': 10_000,
  none: 0,
};
const CARDS_AT_ONCE = 100;

/** BINs of large issuers of several networks, all with 16 digits. */
const BINS = [
  '411111',
  '401288',
  '424242',
  '455667',
  '471604',
  '492901',
  '510510',
  '522134',
  '541333',
  '555555',
  '601100',
];
const NAMES = ['Ana Lopez', 'Luis Fernandez', 'Maria Camila Rojas', 'John Smith', 'Sofia Gomez', 'Andres Vargas'];

export function randomPan(): string {
  const digits = BINS[randomInt(BINS.length)] + String(randomInt(10 ** 9)).padStart(9, '0');
  let sum = 0;
  // The check digit comes last, so every second digit from the right end of the others is doubled.
  for (let index = 0; index < digits.length; index++) {
    const digit = Number(digits[digits.length - 1 - index]) * (index % 2 === 0 ? 2 : 1);
    sum += digit > 9 ? digit - 9 : digit;
  }
  return digits + ((10 - (sum % 10)) % 10);
}

const pick = (choices: readonly string[]): string => choices[randomInt(choices.length)] ?? '';

const randomExpiry = (): string => `${String(randomInt(1, 13)).padStart(2, '0')}/${randomInt(28, 35)}`;

const randomCard = () => ({ card: randomPan(), name: pick(NAMES), exp: randomExpiry() });

const tokenization = (cards: number): object => ({
  chd: Array.from({ length: cards }, randomCard),
  tags: ['web', 'checkout'],
  scheme: 1,
});

const capture = (): object => ({
  chd: { ...randomCard(), cvv: String(randomInt(1000)).padStart(3, '0') },
  amount: randomInt(100, 1_000_000),
  currency: 'USD',
  additional_info: { order: `A-${randomInt(100_000, 1_000_000)}` },
  ttl: 1440,
});

const authorization = (): object => {
  const { card: number, name: holder, exp } = randomCard();
  return {
    transaction_info: { type: 'authorization', reference_code: `A-${randomInt(100_000, 1_000_000)}` },
    card: { number, expiration_date: exp, security_code: String(randomInt(1000)).padStart(3, '0'), holder },
    order_info: { amount_details: { total_amount: randomInt(100, 500_000) / 100, currency: 'USD' } },
    bill_to: { first_name: 'Ana', last_name: 'Lopez', country: 'US', email: 'ana@example.com', postal_code: '94105' },
  };
};

const BODIES: Readonly<Record<Shape, ((id: string) => string) | undefined>> = {
  card: () => JSON.stringify(tokenization(1)),
  'hundred cards': () => JSON.stringify(tokenization(CARDS_AT_ONCE)),
  capture: () => JSON.stringify(capture()),
  authorization: () => JSON.stringify(authorization()),
  'purchase in JSON': purchaseInJson,
  'purchase in XML': purchaseInXml,
  hashed: () => hashed(undefined),
  'hashed with placeholders': hashed,
  none: undefined,
};

/** Requests of one kind as they go over the wire, made before the clock starts. */
export function prepare(plan: Plan): Buffer[] {
  const count = plan.shape === 'none' ? plan.ids.length : PREPARED[plan.shape];
  return Array.from({ length: count }, (_, index) => {
    const id = plan.ids[index % plan.ids.length] ?? '';
    const body = BODIES[plan.shape]?.(id);
    const media = plan.shape === 'purchase in XML' ? 'text/xml' : 'application/json';
    const lines = [
      `${plan.method} ${plan.path.replace('{id}', id)} HTTP/1.1`,
      'host: localhost',
      `${plan.keyHeader}: ${plan.secret}`,
      'accept: */*',
    ];
    if (body !== undefined) lines.push(`content-type: ${media}`, `content-length: ${Buffer.byteLength(body)}`);
    return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body ?? ''}`);
  });
}
