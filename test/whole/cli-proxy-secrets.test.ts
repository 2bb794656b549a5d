import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type CliFixture, openCliFixture, resultOf } from '../fixtures/cli-fixture.ts';
import type { CommandResult } from '../fixtures/command.ts';
import { newKeyPair, privatePem, publicPem } from '../fixtures/rsa-key-pairs.ts';

const SECRET = 'Canary-Of-What-Was-Typed';
const merchant = newKeyPair();
const processor = newKeyPair();

/** Text and JSON output. */
const FORMS = [
  { form: 'without --json', more: [] },
  { form: 'with --json', more: ['--json'] },
] as const;

describe('cardvault proxy', () => {
  let desk: CliFixture;
  let account: string;
  before(async () => {
    desk = openCliFixture();
    account = await desk.newAccount();
    const keys = ['--merchant-private-key', desk.file(privatePem(merchant))];
    keys.push('--processor-public-key', desk.file(publicPem(processor)));
    await resultOf(desk.proxy('configure', account, ...keys, '--setting', 'jose.payload=plain', '--json'));
  });
  after(() => desk.close());

  const show = async (): Promise<CommandResult['json']> => (await desk.proxy('show', account, '--json')).json;
  const errorOf = ({ err }: CommandResult, more: readonly string[]): string =>
    more.length > 0 ? JSON.parse(err).error : err.replace(/^cardvault: /, '');

  for (const { form, more } of FORMS) {
    test(`remove ${form} removes nothing without --force, also when it is not confirmed`, async () => {
      const before = await show();
      for (const options of [[], ['--no-force']]) {
        const ran = await desk.proxy('remove', account, ...options, ...more);
        assert.equal(ran.code, 2);
        assert.equal(ran.out, '');
        if (options.length === 0)
          assert.match(
            errorOf(ran, more),
            /^this deletes the private key of the merchant permanently; repeat with --force\n?$/,
          );
        assert.deepEqual(await show(), before);
      }
      assert.notEqual(before.merchant_private_key, null);
      assert.equal(before.settings['jose.payload'], 'plain');
    });

    for (const text of [
      `wssec.password:${SECRET}`,
      SECRET,
      `=${SECRET}`,
      `wssec.password ${SECRET}`,
      `nosuch=${SECRET}`,
      `${SECRET}=x`,
      `jose.content=${SECRET}`,
      `wssec.password=${SECRET}`,
      `wssec.password=@/nowhere`,
    ]) {
      test(`configure ${form} does not repeat a malformed setting: ${JSON.stringify(text)}`, async () => {
        const before = await show();
        const ran = await desk.proxy('configure', account, '--setting', text, ...more);
        assert.ok([1, 2].includes(ran.code), `${ran.code}`);
        assert.ok(!`${ran.out}${ran.err}`.includes(SECRET), ran.err);
        assert.equal(ran.out, '');
        assert.notEqual(errorOf(ran, more), '');
        assert.deepEqual(await show(), before);
      });
    }

    test(`configure ${form} takes a password from a file only, and removes it without one`, async () => {
      const before = await show();
      const ran = await desk.proxy('configure', account, '--setting', `wssec.password=${SECRET}`, ...more);
      assert.deepEqual([ran.code, ran.out], [2, '']);
      assert.match(errorOf(ran, more), /wssec\.password is secret, .* give wssec\.password=@FILE\n?$/);
      assert.ok(!ran.err.includes(SECRET));
      assert.deepEqual(await show(), before);
      for (const [text, shown] of [
        [`wssec.password=@${desk.file(SECRET)}`, '(set)'],
        ['wssec.password=', undefined],
      ] as const) {
        assert.equal((await desk.proxy('configure', account, '--setting', text, ...more)).code, 0);
        assert.equal((await show()).settings['wssec.password'], shown);
      }
    });

    test(`configure ${form} reports an unknown setting by its number`, async () => {
      const good = ['--setting', 'jose.payload=plain'];
      const first = await desk.proxy('configure', account, '--setting', `nosuch=${SECRET}`, ...good, ...more);
      assert.match(errorOf(first, more), /^setting 1 does not exist; there are jose\.content, /);
      const second = await desk.proxy('configure', account, ...good, '--setting', `nosuch=${SECRET}`, ...more);
      assert.match(errorOf(second, more), /^setting 2 does not exist; there are /);
      for (const ran of [first, second]) assert.ok(!`${ran.out}${ran.err}`.includes(SECRET));
    });

    test(`configure ${form} reports which file is missing`, async () => {
      const missing = join(desk.files, 'no-such-file');
      for (const args of [
        ['--processor-public-key', missing],
        ['--merchant-private-key', missing],
        ['--merchant-certificate', missing],
        ['--merchant-private-key', desk.file(privatePem(merchant)), '--passphrase-file', missing],
        ['--setting', `wssec.password=@${missing}`],
      ]) {
        const ran = await desk.proxy('configure', account, ...args, ...more);
        assert.equal(ran.code, 2);
        assert.equal(ran.out, '');
        assert.equal(errorOf(ran, more).trimEnd(), `${missing}: there is no such file`);
      }
      const ran = await desk.proxy('configure', account, '--processor-public-key', desk.files, ...more);
      assert.equal(ran.code, 2);
      assert.equal(errorOf(ran, more).trimEnd(), `${desk.files}: cannot be read (EISDIR)`);
    });
  }
});
