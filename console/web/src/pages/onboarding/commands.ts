/** Commands for tests in the sandbox. The card number is a public test number. */
const CARD = '4111111111111111';

interface Commands {
  readonly key: string;
  readonly card: string;
  readonly capture: string;
  readonly payment: string;
}

const buildPost = (curl: string, body: object, headers: readonly string[] = []): string =>
  [
    curl,
    ...['content-type: application/json', ...headers].map((header) => `-H '${header}'`),
    `-H "x-api-key: $KEY"`,
    `-d '${JSON.stringify(body)}'`,
  ].join(' \\\n  ');

/** Builds the smallest call that makes an account live: it reads, and uses no card. */
export const buildFirstCall = (curl: string): string => `${curl}/v1/account -H "x-api-key: $KEY"`;

/** Builds the commands. `curl`: their beginning up to the path. `year`: expiration year of the test card. */
export function buildCommands(curl: string, year: number): Commands {
  const chd = { card: CARD, name: 'Ana Lopez', exp: `12/${String(year).slice(-2)}` };
  const payer = { first_name: 'Ana', last_name: 'Lopez', country: 'US', email: 'ana@example.com' };
  return {
    key: 'KEY=cv_sandbox_…',
    card: buildPost(`${curl}/v1/tokenization/simple`, { chd: [chd], tags: ['first-steps'], scheme: 1 }),
    capture: buildPost(`${curl}/transactions/requests`, {
      chd: { ...chd, cvv: '123' },
      amount: 12_500,
      currency: 'USD',
      additional_info: { order: 'A-1001' },
      ttl: 60,
    }),
    payment: buildPost(
      `${curl}/v1/payments/`,
      {
        transaction_info: { type: 'authorization', reference_code: 'A-1001' },
        card: { number: CARD, expiration_date: `12/${year}`, security_code: '123', holder: 'Ana Lopez' },
        order_info: { amount_details: { total_amount: 125.5, currency: 'USD' } },
        bill_to: payer,
      },
      ['Idempotency-Key: first-steps-1'],
    ),
  };
}
