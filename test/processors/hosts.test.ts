import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { PaymentActivations } from '../../src/payments/payment-activations.ts';
import { ProcessorHosts } from '../../src/payments/processor-hosts.ts';
import { createProcessors } from '../../src/payments/processors.ts';
import { openCliFixture } from '../fixtures/cli-fixture.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { order, PAYMENTS } from '../interface/payment-requests.ts';
import { newCaller } from '../interface/vault-requests.ts';
import { FakeKoin } from './fake-koin.ts';

/** Shows that live cards are sent only to hosts that a processor documents, or that the operator listed. */

const BY_OPERATOR = { actor: { type: 'operator', name: 'test' } } as const;
const KOIN = { 'private-key': 'sk_test', account: 'ACC', 'country-code': 'BR' };

let service: TestService;
const fake = new FakeKoin();
let url: string;
before(async () => {
  service = await startTestService();
  ({ url } = await fake.start());
});
after(async () => {
  await fake.stop();
  await service.stop();
});

const enabling = (settings: Readonly<Record<string, string>>) => ({
  processor: 'koin',
  settings: { ...KOIN, ...settings },
  force: false,
});

describe('a host that is not allowed', () => {
  test('is rejected when it is set, by console and command, and nothing changes', async () => {
    const account = await service.newAccount();
    const tenant = { account, environment: 'production' } as const;
    const { activations } = service.core;
    for (const [name, value] of [
      ['base-url', url],
      ['base-url', 'https://api-payments.koin.com.br.evil.example'],
      ['tokenize-url', 'https://api-sandbox.koin.com.br'],
    ] as const)
      await assert.rejects(
        service.core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
          activations.enable(transaction, tenant, enabling({ [name]: value })),
        ),
        (error: Error) => {
          assert.match(error.message, new RegExp(`^${name}: not a host that koin documents for production; .*HOSTS`));
          assert.ok(!error.message.includes(value));
          return true;
        },
      );
    assert.equal((await activations.show(tenant)).enabled, false);
    await service.core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
      activations.enable(transaction, tenant, enabling({ 'base-url': 'https://api-payments.koin.com.br/' })),
    );
    await service.core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
      activations.enable(transaction, { ...tenant, environment: 'sandbox' }, enabling({ 'base-url': url })),
    );
  });

  test('receives no card of a payment, which counts as certainly not sent', async () => {
    const me = await newCaller(service, { environment: 'production' });
    const tenant = { account: me.account, environment: 'production' } as const;
    // Runs a command whose own environment lists the host.
    const hosts = new ProcessorHosts([new URL(url).host]);
    const { byName: processors, close } = createProcessors({ ...service.core, hosts });
    close();
    const activations = new PaymentActivations({ ...service.core, processors, hosts });
    await service.core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
      activations.enable(transaction, tenant, enabling({ 'base-url': url })),
    );
    const before = fake.requests.length;
    const body = order('authorization', { currency: 'BRL', amount: 10 });
    const { json, status } = await me.send('POST', PAYMENTS, body);
    assert.equal(status, 200);
    const { transaction_info: shown } = json.data;
    assert.deepEqual([shown.status, shown.reason], ['ProcessorError', 'InvalidConfiguration']);
    assert.equal(fake.requests.length, before);
    const doubtful = await service.core.database.read(
      'select count(*) as n from payments where in_doubt_since is not null',
    );
    assert.equal(Number(doubtful[0]?.['n']), 0);
    const line = service.log.map((each) => JSON.parse(each)).find(({ msg }) => msg === 'processor host refused');
    assert.deepEqual([line.account, line.reason], [me.account, 'koin']);
    const metrics = await service.call('GET', '/metrics', { environment: 'console' });
    assert.match(
      metrics.text,
      /^cardvault_processor_hosts_refused_total\{environment="production",processor="koin"\} 1$/m,
    );
  });
});

test('a command reads the list of its environment', async () => {
  const desk = openCliFixture();
  try {
    const account = await desk.newAccount();
    const pairs = [`private-key=@${desk.file('k')}`, 'account=a', `base-url=${url}`];
    const settings = pairs.flatMap((pair) => ['--setting', pair]);
    const where = ['--account', account, '--environment', 'production', '--processor', 'koin'];
    const ran = await desk.run('payments', 'enable', ...where, ...settings, '--json');
    assert.equal(ran.code, 2);
    assert.match(
      JSON.parse(ran.err).error,
      /^base-url: .* CARDVAULT_PROCESSOR_HOSTS of this process and of every node/,
    );
  } finally {
    await desk.close();
  }
});
