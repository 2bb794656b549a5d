import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { exportJournal } from '../../src/audit/verify-journal.ts';
import { Search } from '../fixtures/canaries.ts';
import { type CliFixture, openCliFixture, resultOf } from '../fixtures/cli-fixture.ts';
import { type CommandResult, Shell } from '../fixtures/command.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { idOf, newMerchant, TIMES_OUT, waitForRecovery } from '../interface/payment-requests.ts';

const SECRET = 'Q2FuYXJ5T2ZBU2hhcmVkU2VjcmV0T2ZDeWJlclNvdXJjZQ==';
const CYBERSOURCE = ['--setting', 'merchant-id=shop_1', '--setting', 'key-id=key-1'];

/** The default settings. */
const DEFAULTS = {
  'opened-expiry': '24h',
  'authorization-expiry': '7d',
  'erase-sad': 'true',
  'payment-scheme': '7',
  'recovery-max': '1h',
};
const SIMULATOR = { ...DEFAULTS, 'timeout-ms': '1000', 'recovery-delay-ms': '5000' };

describe('cardvault payments', () => {
  let desk: CliFixture;
  before(() => {
    desk = openCliFixture();
  });
  after(() => desk.close());

  const payments = (command: string, account: string, ...more: string[]): Promise<CommandResult> => {
    const environment = more.includes('--environment') ? [] : ['--environment', 'sandbox'];
    return desk.run('payments', command, '--account', account, ...environment, ...more);
  };
  const settings = (...pairs: string[]): string[] => pairs.flatMap((pair) => ['--setting', pair]);
  const secret = (name: string, value: string): string => `${name}=@${desk.file(value)}`;
  const shown = (account: string, ...more: string[]) => resultOf(payments('show', account, '--json', ...more));
  const refused = async (ran: Promise<CommandResult>, what: RegExp): Promise<CommandResult> => {
    const finished = await ran;
    assert.notEqual(finished.code, 0);
    assert.equal(finished.out, '');
    assert.match(finished.err, what);
    return finished;
  };

  test('after another processor the sandbox does not return to the simulator automatically', async () => {
    const account = await desk.newAccount();
    const koin = settings('account=SBX000', secret('private-key', 'sk_0123456789abcdefghijklmnopqrstuv'));
    await resultOf(payments('enable', account, '--processor', 'koin', ...koin, '--json'));
    await resultOf(payments('disable', account, '--json'));
    await refused(payments('enable', account), /which processor\? give --processor/);
    assert.equal((await resultOf(payments('enable', account, '--processor', 'koin', '--json')))['processor'], 'koin');
  });

  test('the sandbox has the simulator, with its effective settings', async () => {
    const account = await desk.newAccount();
    const none = { account, environment: 'sandbox', enabled: false, processor: null, altered: false, settings: {} };
    assert.deepEqual(await shown(account), none);
    const enabled = { ...none, enabled: true, processor: 'simulator', settings: SIMULATOR };
    assert.deepEqual(await resultOf(payments('enable', account, '--json')), enabled);
    assert.deepEqual(await shown(account), enabled);
    assert.deepEqual(await shown(account, '--environment', 'production'), { ...none, environment: 'production' });
    const text = await payments('show', account);
    assert.match(text.out, /payments +enabled/);
    assert.match(text.out, /payment-scheme +7/);
    assert.deepEqual(await resultOf(payments('disable', account, '--json')), none);
    assert.deepEqual(await shown(account), none);
    await refused(payments('disable', account), /payments are not enabled there/);
  });

  test('settings are merged, removed by an empty value, and kept when payments are disabled', async () => {
    const account = await desk.newAccount();
    const enable = async (...pairs: string[]) =>
      (await resultOf(payments('enable', account, '--json', ...settings(...pairs)))).settings;
    assert.deepEqual(await enable('opened-expiry=30s', 'erase-sad=false'), {
      ...SIMULATOR,
      'opened-expiry': '30s',
      'erase-sad': 'false',
    });
    const merged = { ...SIMULATOR, 'opened-expiry': '1h', 'erase-sad': 'false', 'payment-scheme': '3' };
    assert.deepEqual(await enable('payment-scheme=3', 'opened-expiry=1h'), merged);
    assert.deepEqual(await enable('erase-sad='), { ...merged, 'erase-sad': 'true' });
    await payments('disable', account);
    assert.deepEqual(await enable(), { ...merged, 'erase-sad': 'true' });
    assert.deepEqual(await enable('payment-scheme=', 'opened-expiry='), SIMULATOR);
    assert.deepEqual(await enable('payment-scheme='), SIMULATOR, 'removing what is not there');
  });

  test('production always erases sensitive authentication data', async () => {
    const account = await desk.newAccount();
    const production = ['--environment', 'production', '--force', '--processor', 'simulator'];
    const enable = (...pairs: string[]) => payments('enable', account, ...production, ...settings(...pairs));
    await refused(enable('erase-sad=false'), /erase-sad: production always erases .*; set it to true/);
    assert.equal((await shown(account, '--environment', 'production')).enabled, false);
    assert.equal((await enable('erase-sad=true')).code, 0);
  });

  test('the last of several settings of one name applies, and a value may contain an equals sign', async () => {
    const account = await desk.newAccount();
    const { settings: taken } = await resultOf(
      payments('enable', account, '--json', ...settings('payment-scheme=1', 'payment-scheme=8')),
    );
    assert.equal(taken['payment-scheme'], '8');
    const url = 'https://pay.example/v1=a';
    const koin = settings(secret('private-key', 'k'), 'account=a', `base-url=${url}`);
    const other = await resultOf(payments('enable', account, '--json', '--processor', 'koin', ...koin));
    assert.equal(other.settings['base-url'], url);
  });

  test('settings are separate for each processor, account and environment', async () => {
    const [one, two] = [await desk.newAccount(), await desk.newAccount()];
    await payments('enable', one, ...settings('payment-scheme=1'));
    await resultOf(
      payments(
        'enable',
        one,
        '--json',
        '--processor',
        'cybersource',
        ...CYBERSOURCE,
        ...settings(secret('shared-secret', SECRET)),
      ),
    );
    assert.equal((await shown(one)).settings['payment-scheme'], '7');
    await payments('enable', one, '--processor', 'simulator');
    assert.equal((await shown(one)).settings['payment-scheme'], '1');
    await payments('enable', two);
    assert.equal((await shown(two)).settings['payment-scheme'], '7');
    const production = ['--environment', 'production'];
    await resultOf(
      payments(
        'enable',
        one,
        '--json',
        ...production,
        '--processor',
        'cybersource',
        ...CYBERSOURCE,
        ...settings(secret('shared-secret', SECRET)),
      ),
    );
    assert.equal((await shown(one, ...production)).processor, 'cybersource');
    assert.equal((await shown(one)).processor, 'simulator');
    assert.equal(
      (await resultOf(payments('enable', one, '--json', ...production))).processor,
      'cybersource',
      'the one that is enabled',
    );
  });

  test('production requires a processor, and accepts the simulator with --force only', async () => {
    const account = await desk.newAccount();
    const production = ['--environment', 'production'];
    await refused(payments('enable', account, ...production), /which processor\? give --processor/);
    await refused(payments('enable', account, ...production, '--processor', 'simulator'), /add --force/);
    assert.equal((await shown(account, ...production)).enabled, false);
    const forced = payments('enable', account, '--json', ...production, '--processor', 'simulator', '--force');
    assert.equal((await resultOf(forced)).enabled, true);
    await refused(payments('enable', account, ...production, ...settings('payment-scheme=3')), /add --force/);
  });

  describe('secrets', () => {
    test('are read from a file, kept, and shown nowhere', async () => {
      const account = await desk.newAccount();
      const file = desk.file(`${SECRET}\n`);
      const enable = (...more: string[]) =>
        payments('enable', account, '--processor', 'cybersource', ...CYBERSOURCE, ...more);
      const first = await enable('--setting', `shared-secret=@${file}`);
      assert.equal(first.code, 0, first.err);
      const output = [
        first,
        await enable('--json'),
        await payments('show', account),
        await payments('show', account, '--json'),
      ];
      for (const { code, out, err } of output) {
        assert.deepEqual([code, err], [0, '']);
        assert.ok(!out.includes(SECRET) && !out.includes(SECRET.slice(0, 12)));
        assert.match(out, /\(set\)/);
      }
      assert.equal((await shown(account)).settings['shared-secret'], '(set)');
      assert.equal((await shown(account)).settings['merchant-id'], 'shop_1');
      await refused(payments('enable', account, '--setting', 'shared-secret='), /missing: shared-secret/);
      const wrong = await refused(
        payments('enable', account, '--setting', secret('shared-secret', `${SECRET}!`)),
        /^.*shared-secret: expected/,
      );
      assert.ok(!wrong.err.includes(SECRET.slice(0, 12)));
      const files = readdirSync(desk.directory, { recursive: true, withFileTypes: true }).filter((each) =>
        each.isFile(),
      );
      for (const { parentPath, name } of files)
        assert.deepEqual(new Search([SECRET]).found(readFileSync(join(parentPath, name))), [], name);
    });

    test('are taken from a file only, because other users can read arguments', async () => {
      const account = await desk.newAccount();
      const key = settings('account=a', 'private-key=sk_canary_3');
      for (const [name, options] of [
        ['shared-secret', ['--processor', 'cybersource', ...CYBERSOURCE, ...settings(`shared-secret=${SECRET}`)]],
        ['private-key', ['--processor', 'koin', ...key]],
        ['private-key', settings('private-key=sk_canary_3')],
      ] as const)
        for (const more of [[], ['--json']]) {
          const ran = await refused(
            payments('enable', account, ...options, ...more),
            new RegExp(`${name} is secret, .* give ${name}=@FILE`),
          );
          assert.equal(ran.code, 2);
          assert.ok(!ran.err.includes(SECRET) && !ran.err.includes('sk_canary'), ran.err);
        }
      assert.equal((await shown(account)).enabled, false);
    });

    test('are not in the audit log, which has the other values', async () => {
      const account = await desk.newAccount();
      const values = [secret('private-key', 'sk_canary_of_koin_81c2'), 'account=canary-account-81c2'];
      await resultOf(payments('enable', account, '--json', '--processor', 'koin', ...settings(...values)));
      const changed = settings(secret('private-key', 'sk_canary_2'), 'account=other');
      await resultOf(payments('enable', account, '--json', ...changed));
      const { out } = await desk.run('audit', 'export');
      assert.match(out, /payments\.enabled/);
      assert.match(out, /private-key/);
      assert.ok(!out.includes('sk_canary'));
      const records = out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      const found = records.findLast((each) => JSON.stringify(each).includes(account));
      const { detail } = JSON.parse(found.record);
      assert.deepEqual(detail.old_values, ['private-key=(secret)', 'account=canary-account-81c2']);
      assert.deepEqual(detail.new_values, ['private-key=(changed)', 'account=other']);
    });
  });

  describe('a usage error changes nothing and is explained', () => {
    const NOTHING = 'canary-of-a-mistake';
    for (const [what, args] of [
      [/setting 2 does not exist; there are .*opened-expiry/, settings('payment-scheme=3', `${NOTHING}=1`)],
      [/setting 1 does not exist/, settings('merchant-id=shop')],
      [/setting 1 does not exist/, settings('__proto__=x')],
      [/expected NAME=VALUE/, settings(NOTHING)],
      [/expected NAME=VALUE/, settings('=x')],
      ...['0s', '31d', '1', 's', '1w', '-1s', '1.5h', '01s', `${NOTHING}s`].map(
        (value) => [/opened-expiry: expected 1s to 30d/, settings(`opened-expiry=${value}`)] as const,
      ),
      [/authorization-expiry: expected 1s to 60d/, settings('authorization-expiry=61d')],
      [/recovery-max: expected 1s to 7d/, settings('recovery-max=8d')],
      ...['49', '300001', '1e3', '', ' 50']
        .filter((value) => value !== '')
        .map(
          (value) => [/timeout-ms: expected a whole number of 50 to 300000/, settings(`timeout-ms=${value}`)] as const,
        ),
      [/recovery-delay-ms: expected a whole number of 0 to 600000/, settings('recovery-delay-ms=600001')],
      [/payment-scheme: expected one of 1, 3, 7, 8/, settings('payment-scheme=2')],
      [/erase-sad: expected one of true, false/, settings('erase-sad=no')],
      [/no such file/, settings('erase-sad=@/nowhere/at/all')],
      [/there is no such processor; there are .*simulator/, ['--processor', NOTHING]],
      [/there is no such processor/, ['--processor', 'constructor']],
      [/missing: merchant-id, key-id, shared-secret/, ['--processor', 'cybersource']],
      [/missing: private-key, account/, ['--processor', 'koin']],
      [
        /base-url: expected an https: URL/,
        ['--processor', 'koin', ...settings('account=a', 'base-url=http://pay.example')],
      ],
      [
        /base-url: expected an https: URL/,
        ['--processor', 'koin', ...settings('account=a', 'base-url=https://u:p@pay.example')],
      ],
      [/expected sandbox or production/, ['--environment', NOTHING]],
    ] as readonly (readonly [RegExp, string[]])[]) {
      test(args.join(' '), async () => {
        const account = await desk.newAccount();
        await payments('enable', account);
        const ran = await refused(payments('enable', account, ...args), what);
        if (!args.includes('--environment')) assert.ok(!ran.err.includes(NOTHING), ran.err);
        assert.deepEqual((await shown(account)).settings, SIMULATOR);
        assert.equal((await shown(account)).processor, 'simulator');
      });
    }

    test('an account that does not exist', async () => {
      for (const command of ['enable', 'show', 'disable'])
        await refused(payments(command, 'acct_0000000000'), /there is no such account; see: cardvault account list/);
    });
  });

  describe('doubtful', () => {
    let directory: string;
    let service: TestService;
    let shell: Shell;
    before(async () => {
      directory = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
      shell = new Shell(directory);
      service = await startTestService({ directory });
    });
    after(async () => {
      await shell.close();
      await service.stop();
      rmSync(directory, { recursive: true, force: true });
    });
    const doubtful = (...more: string[]): Promise<CommandResult> => shell.run('payments', 'doubtful', ...more);

    test('lists payments with an unknown outcome, with amounts as digits, until it is resolved', async () => {
      assert.deepEqual((await doubtful('--json')).json, []);
      assert.match((await doubtful()).out, /no payment has an unknown outcome/);
      const me = await newMerchant(service, { 'timeout-ms': '300' });
      const first = idOf(await me.order('authorization', { amount: '66000.50', reference: 'Canary of a reference' }));
      const captured = await me.opened('authorization', { amount: 999_999_999_999.5, triggers: '_capture_timeout' });
      const capture = idOf(await me.move('capture', captured, 1));
      await me.opened('payment');
      const { json } = await doubtful('--json');
      const fixed = {
        account: me.account,
        environment: 'sandbox',
        processor: 'simulator',
        currency: 'USD',
        attempts: 0,
        problem: 'timeout',
      };
      assert.deepEqual(
        json.map(({ created_at, doubtful_since, next_attempt_at, ...rest }: Record<string, string>) => {
          for (const time of [created_at, doubtful_since, next_attempt_at]) assert.ok(Date.parse(String(time)) > 0);
          return rest;
        }),
        [
          { ...fixed, payment_id: first, transaction_id: first, status: 'Opened', amount: '66000.5' },
          { ...fixed, payment_id: captured, transaction_id: capture, status: 'Authorized', amount: '999999999999.5' },
        ],
      );
      const { out } = await doubtful();
      assert.match(out, new RegExp(`${me.account} +sandbox +${first} +${first} +simulator +66000.5 USD`));
      assert.ok(!out.includes('Canary') && !JSON.stringify(json).includes('Canary'));
      await waitForRecovery(service, async () => (await doubtful('--json')).json.length === 0);
      assert.match((await doubtful()).out, /no payment has an unknown outcome/);
    });

    test('payments resolve completes the operation with the outcome of the operator', async () => {
      const me = await newMerchant(service, { 'timeout-ms': '300', 'recovery-delay-ms': '600000' });
      const resolve = (id: string, outcome: string): Promise<CommandResult> => {
        const of = ['--account', me.account, '--environment', 'sandbox', '--transaction', id];
        return shell.run('payments', 'resolve', ...of, '--outcome', outcome, '--json');
      };
      const id = await me.opened('authorization', { amount: 999, triggers: '_capture_timeout' });
      const lost = idOf(await me.order('authorization', { amount: '66000' }));
      const capture = idOf(await me.move('capture', id, 500));
      const hook = await service.call('POST', '/v1/webhooks', {
        key: me.key,
        body: { url: 'https://hooks.example.com/', events: ['*'] },
      });
      const sure = await me.opened('authorization', { amount: 10 });
      assert.match((await refused(resolve(sure, 'accepted'), /no such transaction in doubt/)).err, /doubtful/);
      await refused(resolve(id, 'accepted'), new RegExp(`another transaction of the payment is in doubt: ${capture}`));
      await refused(resolve(capture, 'perhaps'), /accepted or refused/);
      const done_ = (await resultOf(resolve(capture, 'accepted'))) as Record<string, string>;
      assert.deepEqual(
        [done_['payment_id'], done_['operation'], done_['operation_state'], done_['status']],
        [id, 'capture', 'accepted', 'Collected'],
      );
      assert.deepEqual((await me.standing(id)).status, 'Collected');
      const path = `/v1/webhooks/${hook.json.data.id}/deliveries`;
      const { json: delivered } = await service.call('GET', path, { key: me.key });
      const types = delivered.data.deliveries.map(({ type }: { type: string }) => type);
      for (const type of ['payment.collected', 'payment.resolved']) assert.ok(types.includes(type), types.join());
      // The former words do the same.
      const former = ['--account', me.account, '--environment', 'sandbox', '--transaction', lost, '--as', 'refused'];
      assert.equal((await resultOf(shell.run('payments', 'settle', ...former, '--json')))['status'], 'ProcessorError');
      await refused(shell.run('payments', 'resolve', ...former.slice(0, -2)), /required option '--outcome <outcome>'/);
      await refused(resolve(capture, 'accepted'), /no such transaction in doubt/);
      assert.ok(!JSON.stringify((await doubtful('--json')).json).includes(me.account));
    });

    test('counts the attempts without a result', async () => {
      const me = await newMerchant(service, { 'timeout-ms': '300', 'recovery-delay-ms': '0' });
      const id = await me.opened('authorization', { amount: TIMES_OUT, triggers: '_inquiry_timeout_always' });
      await waitForRecovery(service, async () => (await doubtful('--json')).json[0]?.attempts >= 1);
      const [found] = (await doubtful('--json')).json;
      assert.equal(found.payment_id, id);
      assert.ok(Date.parse(found.next_attempt_at) > Date.parse(found.doubtful_since));
    });
  });

  test('enabling and disabling are in the audit log', async () => {
    const service = await startTestService({ directory: desk.directory });
    try {
      const actions: string[] = [];
      for await (const { record } of exportJournal(service.core.database)) actions.push(JSON.parse(record).action);
      assert.ok(actions.includes('payments.enabled') && actions.includes('payments.disabled'));
    } finally {
      await service.stop();
    }
  });

  test('a mistyped option is reported without its value', async () => {
    const account = await desk.newAccount();
    for (const more of [[], ['--json']]) {
      const ran = await refused(payments('enable', account, `--seting=shared-secret=${SECRET}'`, ...more), /--seting'/);
      assert.ok(!ran.err.includes(SECRET), ran.err);
    }
  });

  test('a value that begins with @ is read from a file, without the final line end', async () => {
    const account = await desk.newAccount();
    const file = join(desk.files, 'expiry');
    for (const [content, taken] of [
      ['90s', '90s'],
      ['91s\n', '91s'],
      ['92s\r\n', '92s'],
    ] as const) {
      writeFileSync(file, content);
      const enabled = payments('enable', account, '--json', '--setting', `opened-expiry=@${file}`);
      assert.equal((await resultOf(enabled)).settings['opened-expiry'], taken);
    }
  });
});
