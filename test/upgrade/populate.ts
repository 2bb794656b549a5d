import { createPeopleServices } from '../../console/people/people-services.ts';
import { OPERATOR } from '../../console/people/roles.ts';
import { parseConfig } from '../../src/config.ts';
import { openCore } from '../../src/core.ts';
import { PAYMENTS } from '../chaos/payment-requests.ts';
import { systemClocks } from '../fixtures/clock.ts';
import { codeAt, PASSWORD, VISITOR } from '../fixtures/people-fixture.ts';
import { runCommand, type ServiceProcess } from '../fixtures/service-process.ts';
import { startWebhookReceiver } from '../fixtures/webhook-receiver.ts';
import { CAPTURES, TOKENIZE, TOKENS } from '../interface/vault-requests.ts';
import { cardOf } from './cards.ts';
import type { ExpectedVault, RecordedRead } from './expected-vault.ts';

/** A release that serves a vault, and how commands reach it. */
export interface ServedVault {
  readonly service: Pick<ServiceProcess, 'call'>;
  readonly directory: string;
  readonly variables: Readonly<Record<string, string>>;
}

const CLIENTS = 6;
const CARDS_OF_A_CLIENT = 8;
const WEEK_MINUTES = 10_080;
const FORMS = [
  { scheme: 1 },
  { scheme: 1, isEightDigitsBin: true },
  { scheme: 3 },
  { scheme: 3, isEightDigitsBin: true },
  { scheme: 7 },
  { scheme: 8 },
  { scheme: 8, isEightDigitsBin: true },
];
const OWNER = { email: 'ana@example.com', name: 'Ana Lopez', language: 'en', password: PASSWORD } as const;

type Draft = { -readonly [Name in 'reads' | 'replays' | 'persistent' | 'unresolved' | 'commands']: unknown[] } & {
  reads: RecordedRead[];
  replays: RecordedRead[];
  persistent: { form: object; card: number; token: string }[];
  unresolved: string[];
  commands: { args: readonly string[]; document: unknown }[];
};

/** Fills a new vault under load with records of all kinds, and returns what it has acknowledged. */
export async function populate(vault: ServedVault): Promise<Omit<ExpectedVault, 'release' | 'leftAt' | 'rows'>> {
  const population = new Population(vault);
  return population.run();
}

class Population {
  readonly #vault: ServedVault;
  readonly #draft: Draft = { reads: [], replays: [], persistent: [], unresolved: [], commands: [] };
  #key = '';
  #keys = 0;

  constructor(vault: ServedVault) {
    this.#vault = vault;
  }

  async run(): Promise<Omit<ExpectedVault, 'release' | 'leftAt' | 'rows'>> {
    const receiver = await startWebhookReceiver();
    try {
      const { account, keys } = await this.#createAccount();
      this.#key = keys.till;
      receiver.respond = (_, response) => void response.writeHead(500).end();
      const events = ['token.deleted', 'payment.authorized', 'payment.declined'];
      const hook = await this.#send('POST', '/v1/webhooks', { url: `${receiver.url}/left`, events });
      const person = await this.#enroll(account);
      await Promise.all(Array.from({ length: CLIENTS }, (_, client) => this.#work(client)));
      await this.#keyring();
      // After the rotation, records are sealed under two versions of their keys.
      await this.#work(CLIENTS);
      await this.#read('GET', `/v1/webhooks/${hook.data.id}`);
      await this.#read('GET', '/v1/account');
      for (const args of [
        ['account', 'show', account],
        ['key', 'list', '--account', account],
        ['webhook', 'list', '--account', account, '--environment', 'sandbox'],
        ['retention', 'show', '--account', account, '--environment', 'sandbox'],
        ['payments', 'show', '--account', account, '--environment', 'sandbox'],
      ])
        this.#draft.commands.push({ args, document: await this.#command(...args) });
      return { account, keys, person, ...this.#draft };
    } finally {
      await receiver.stop();
    }
  }

  async #createAccount(): Promise<Pick<ExpectedVault, 'account' | 'keys'>> {
    const { id: account } = await this.#command('account', 'create', '--name', 'Store');
    const other = await this.#command('account', 'create', '--name', 'Suspended');
    await this.#command('account', 'suspend', other.id);
    const tenant = ['--account', account, '--environment', 'sandbox'];
    const create = (name: string) => this.#command('key', 'create', ...tenant, '--name', name, '--ip', '127.0.0.1');
    const [till, revoked, rotated] = [await create('till'), await create('revoked'), await create('rotated')];
    await this.#command('key', 'revoke', revoked.id);
    const successor = await this.#command('key', 'rotate', rotated.id);
    await this.#command('retention', 'set', ...tenant, '--unused-days', '400');
    // An unknown outcome remains unknown until the vault is left.
    const settings = ['timeout-ms=3000', 'recovery-delay-ms=120000', 'recovery-max=1h'];
    const options = settings.flatMap((setting) => ['--setting', setting]);
    await this.#command('payments', 'enable', ...tenant, '--processor', 'simulator', ...options);
    return { account, keys: { till: till.key, revoked: revoked.key, rotated: successor.key } };
  }

  /** Replaces keys while records exist, as an operator does once a year. */
  async #keyring(): Promise<void> {
    await this.#command('keyring', 'rotate', 'data');
    await this.#command('audit', 'checkpoint', '--new');
  }

  /** Enrolls the owner of the account beside the service, with an authenticator app. */
  async #enroll(account: string): Promise<ExpectedVault['person']> {
    const { directory, variables } = this.#vault;
    const core = await openCore(parseConfig({ CARDVAULT_DATA_DIR: directory, ...variables }), systemClocks);
    try {
      const { invitations, enrollment } = createPeopleServices(core);
      const origin = { actor: { type: 'operator' as const, name: 'release' } };
      const { email } = OWNER;
      const to = { account, environment: undefined, role: 'owner' as const, email };
      const link = await core.transactions.run({ origin }, (transaction) =>
        invitations.invite(transaction, to, OPERATOR),
      );
      const started = { ...OWNER, secret: link.secret };
      const { session } = await core.transactions.run({ origin }, (transaction) =>
        enrollment.begin(transaction, started, VISITOR),
      );
      const { secret: totp } = enrollment.totp(session);
      await core.transactions.run({ origin }, (transaction) =>
        enrollment.confirmTotp(transaction, session, codeAt(totp, core.clock()), VISITOR),
      );
      return { email, password: PASSWORD, totp };
    } finally {
      await core.close();
    }
  }

  async #work(client: number): Promise<void> {
    for (let index = 0; index < CARDS_OF_A_CLIENT; index++) {
      const number = client * CARDS_OF_A_CLIENT + index + 1;
      await this.#tokens(number);
      await this.#captures(number);
      if (index < 3) await this.#payments(number);
    }
    await this.#sessions();
  }

  /** Each token is inspected, and its card is read by the digest of it. */
  async #tokens(number: number): Promise<void> {
    const form = FORMS[number % FORMS.length] as object;
    const chd = [{ card: cardOf(number), name: 'Ana Lopez', exp: '12/49' }];
    const body = { chd, tags: number % 3 === 0 ? ['vip', `client ${number}`] : [], ...form };
    const plain = await this.#keyed('POST', TOKENIZE, body);
    const persistent = await this.#send('POST', TOKENIZE, { ...body, type: 'persistent' });
    const [first, second] = [plain, persistent].map(({ data }) => data.tokens[0].token as string);
    this.#draft.persistent.push({ form, card: number, token: second as string });
    for (const token of [first, second]) {
      await this.#read('GET', `${TOKENS}/${token}/inspect`);
      const holder = { card: `{{${token}:detokenize | extract:card}}` };
      await this.#read('POST', '/proxy/hash?type=SHA256', holder, { 'ft-access-key': this.#key });
    }
    const removed = (await this.#send('POST', TOKENIZE, body)).data.tokens[0].token;
    await this.#send('DELETE', TOKENS, { tokens: [removed] });
    await this.#read('GET', `${TOKENS}/${removed}/inspect`);
  }

  async #captures(number: number): Promise<void> {
    const chd = { card: cardOf(number), name: 'Ana Lopez', exp: '12/49', cvv: '123' };
    const body = { chd, amount: number, currency: 'USD', additional_info: { table: 'a' }, ttl: WEEK_MINUTES };
    const { id } = (await this.#keyed('POST', CAPTURES, body)).data;
    await this.#read('GET', `${CAPTURES}/${id}`);
    await this.#read('GET', `${CAPTURES}/${id}/inspect`);
    const { id: removed } = (await this.#send('POST', CAPTURES, body)).data;
    await this.#send('DELETE', `${CAPTURES}/${removed}`);
    await this.#read('GET', `${CAPTURES}/${removed}`);
  }

  async #payments(number: number): Promise<void> {
    const paid = await this.#pay(number, 'payment', '41.00');
    const held = await this.#pay(number, 'authorization', '50.00');
    const voided = await this.#pay(number, 'authorization', '60.00');
    const declined = await this.#pay(number, 'authorization', '6000.00');
    const follow = (payment: string, type: string, member: object, path: string) =>
      this.#keyed('POST', `${PAYMENTS}/${payment}/${path}`, { transaction_info: { type }, ...member });
    const part = (total: string) => ({ amount_details: { total_amount: total } });
    await follow(paid, 'payment_refund', { refund_info: part('11.00') }, 'refund');
    await follow(held, 'capture', { capture_info: part('20.00') }, 'capture');
    await follow(voided, 'authorization_void', {}, 'void');
    for (const payment of [paid, held, voided, declined])
      await this.#read('GET', `${PAYMENTS}/transactions/${payment}`);
    // One for each client: the outcome is unknown when the vault is left.
    if (number % CARDS_OF_A_CLIENT === 1)
      this.#draft.unresolved.push(await this.#pay(number, 'authorization', '65001.00'));
  }

  async #pay(number: number, type: string, total: string): Promise<string> {
    const body = {
      transaction_info: { type, reference_code: `order ${number}` },
      card: { number: cardOf(number), expiration_date: '12/2049', security_code: '737', holder: 'Ana Lopez' },
      order_info: { amount_details: { total_amount: total, currency: 'USD' } },
      cardholder_info: { first_name: 'Ana', email: 'ana@example.com' },
    };
    const isKnown = total !== '65001.00';
    const response = await (isKnown
      ? this.#keyed('POST', PAYMENTS, body)
      : this.#send('POST', PAYMENTS, body, isKnown));
    return response.data.transaction_info.transaction_id;
  }

  async #sessions(): Promise<void> {
    const origins = { allowed_origins: ['https://shop.example.com'] };
    const goals = [
      { amount: 100, currency: 'USD', ttl: WEEK_MINUTES },
      { result: 'token', scheme: 7 },
    ];
    for (const goal of goals) {
      const { id } = (await this.#send('POST', '/v1/capture-sessions', { ...origins, ...goal })).data;
      await this.#read('GET', `/v1/capture-sessions/${id}`);
    }
  }

  /** Sends the request again when the service has closed the unused connection at that moment. */
  async #call(...request: Parameters<ServiceProcess['call']>): ReturnType<ServiceProcess['call']> {
    const { service } = this.#vault;
    return service.call(...request).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ECONNRESET') throw error;
      return service.call(...request);
    });
  }

  // biome-ignore lint/suspicious/noExplicitAny: responses of every shape
  async #send(method: string, path: string, body?: unknown, isSuccess = true): Promise<any> {
    const { status, json, text } = await this.#call(method, path, { key: this.#key, body });
    if (isSuccess && status !== 200) throw new Error(`${method} ${path}: ${status} ${text}`);
    return json;
  }

  /** The response is stored under a key. */
  // biome-ignore lint/suspicious/noExplicitAny: responses of every shape
  async #keyed(method: string, path: string, body: unknown): Promise<any> {
    const headers = { 'idempotency-key': `upgrade-${++this.#keys}` };
    const { status, json, text } = await this.#call(method, path, { key: this.#key, body, headers });
    if (status !== 200) throw new Error(`${method} ${path}: ${status} ${text}`);
    this.#draft.replays.push({ method, path, key: this.#key, body, headers, status, response: json });
    return json;
  }

  async #read(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<void> {
    const more = { ...(body !== undefined && { body }), ...(headers && { headers }) };
    const { status, json } = await this.#call(method, path, { key: this.#key, ...more });
    this.#draft.reads.push({ method, path, key: this.#key, ...more, status, response: json });
  }

  // biome-ignore lint/suspicious/noExplicitAny: documents of every shape
  async #command(...args: readonly string[]): Promise<any> {
    const { directory, variables } = this.#vault;
    const { code, out, err } = await runCommand(directory, [...args, '--json'], variables);
    if (code !== 0) throw new Error(`${args.join(' ')}: ${code} ${out}${err}`);
    return JSON.parse(out);
  }
}
