/** Commands that call the API. The card number is a public test number. */
const CARD = '4111111111111111';
/** Years until the test card expires. */
const CARD_YEARS_AHEAD = 3;

/** Argument with the API key: a key that is shown once, or the variable of the reader's shell. */
const keyArgument = (key: string | undefined): string =>
  key === undefined ? `-H "x-api-key: $KEY"` : `-H 'x-api-key: ${key}'`;

const quoteForShell = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

interface PostOptions {
  readonly headers?: readonly string[];
  readonly key?: string | undefined;
}

/** Builds a call with a JSON body. `curl`: its beginning with the path. */
export const buildPost = (curl: string, body: string, { headers = [], key }: PostOptions = {}): string =>
  [
    curl,
    ...['content-type: application/json', ...headers].map((header) => `-H ${quoteForShell(header)}`),
    keyArgument(key),
    `--data-raw ${quoteForShell(body)}`,
  ].join(' \\\n  ');

interface AnyRequest {
  /** Beginning of the command, up to the path. */
  readonly curl: string;
  readonly method: string;
  readonly path: string;
  readonly keyHeader: string;
  readonly contentType: string;
  readonly body: string | undefined;
}

/** Builds any call, with a placeholder for the key. */
export const buildRequest = ({ curl, method, path, keyHeader, contentType, body }: AnyRequest): string =>
  [
    `${curl}${path}`,
    ...(method === 'DELETE' || (method === 'POST' && body === undefined) ? [`-X ${method}`] : []),
    ...(body === undefined ? [] : [`-H ${quoteForShell(`content-type: ${contentType}`)}`]),
    `-H "${keyHeader}: $KEY"`,
    ...(body === undefined ? [] : [`--data-raw ${quoteForShell(body)}`]),
  ].join(' \\\n  ');

/** Builds the call that checks a key: it reads the account, and uses no card. */
export const buildFirstCall = (curl: string, key?: string): string => `${curl}/v1/account \\\n  ${keyArgument(key)}`;

const expiryYear = (): number => new Date().getFullYear() + CARD_YEARS_AHEAD;

const cardholder = () => ({ card: CARD, name: 'Ana Lopez', exp: `12/${String(expiryYear()).slice(-2)}` });

/** Builds the call that stores the test card. `curl`: its beginning up to the path. */
export const buildCardCall = (curl: string, key?: string): string => {
  const body = { chd: [cardholder()], tags: ['first-steps'], scheme: 1 };
  return buildPost(`${curl}/v1/tokenization/simple`, JSON.stringify(body), { key });
};

export const buildCaptureCall = (curl: string): string => {
  const chd = { ...cardholder(), cvv: '123' };
  const body = { chd, amount: 12_500, currency: 'USD', additional_info: { order: 'A-1001' }, ttl: 60 };
  return buildPost(`${curl}/transactions/requests`, JSON.stringify(body));
};

export const buildPaymentCall = (curl: string): string => {
  const body = {
    transaction_info: { type: 'authorization', reference_code: 'A-1001' },
    card: { number: CARD, expiration_date: `12/${expiryYear()}`, security_code: '123', holder: 'Ana Lopez' },
    order_info: { amount_details: { total_amount: 125.5, currency: 'USD' } },
    bill_to: { first_name: 'Ana', last_name: 'Lopez', country: 'US', email: 'ana@example.com' },
  };
  return buildPost(`${curl}/v1/payments/`, JSON.stringify(body), { headers: ['Idempotency-Key: first-steps-1'] });
};
