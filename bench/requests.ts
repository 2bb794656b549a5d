import { randomInt } from 'node:crypto';

/** What is sent: one body for each request, or none. */
export type Shape = 'card' | 'hundred cards' | 'capture' | 'none';

export interface Plan {
  readonly name: string;
  readonly method: 'GET' | 'POST';
  /** `{id}` stands for one id after the other. */
  readonly path: string;
  readonly shape: Shape;
  readonly ids: readonly string[];
  readonly secret: string;
}

const PREPARED: Readonly<Record<Shape, number>> = { card: 20_000, 'hundred cards': 400, capture: 20_000, none: 0 };
const CARDS_AT_ONCE = 100;

/** Of large issuers of several networks, all with 16 digits. */
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

const pick = (words: readonly string[]): string => words[randomInt(words.length)] ?? '';

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

const bodyOf = (shape: Shape): string | undefined => {
  if (shape === 'none') return undefined;
  if (shape === 'capture') return JSON.stringify(capture());
  return JSON.stringify(tokenization(shape === 'card' ? 1 : CARDS_AT_ONCE));
};

/** Requests of one kind as they go over the wire, made before the clock starts. */
export function prepare(plan: Plan): Buffer[] {
  const count = plan.shape === 'none' ? plan.ids.length : PREPARED[plan.shape];
  return Array.from({ length: count }, (_, index) => {
    const body = bodyOf(plan.shape);
    const lines = [
      `${plan.method} ${plan.path.replace('{id}', plan.ids[index % plan.ids.length] ?? '')} HTTP/1.1`,
      'host: localhost',
      `x-api-key: ${plan.secret}`,
      'accept: */*',
    ];
    if (body !== undefined) lines.push('content-type: application/json', `content-length: ${Buffer.byteLength(body)}`);
    return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body ?? ''}`);
  });
}
