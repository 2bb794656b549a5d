import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { AlertMails } from '../../console/alerts/alert-mails.ts';
import { AlertEvaluation } from '../../console/alerts/alerts.ts';
import { type Mail, SEND_DEADLINE_MS, SmtpSender, type SmtpServer } from '../../console/alerts/smtp.ts';
import { findSignInState, updateSignInState } from '../../console/people/sign-in-state-store.ts';
import { chooseAlertMails, showAlertMails } from '../../console/wire/alerts.ts';
import { listAudit } from '../../console/wire/audit.ts';
import {
  changeEmail,
  changePassword,
  confirmEmail,
  createRecoveryCodes,
  editProfile,
  sendEmailCode,
} from '../../console/wire/profile.ts';
import { DAY, MINUTE, SECOND } from '../../src/kernel/clock.ts';
import { commitOrThrow, type Database, write } from '../../src/storage/database.ts';
import { eventually } from '../fixtures/eventually.ts';
import { MailServer, type ReceivedMail, SMTP_PASSWORD } from '../fixtures/smtp.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { newCaller } from '../interface/vault-requests.ts';
import { assertRefused, successData } from './account-user.ts';
import { newPerson, PASSWORD, signIn } from './console-client.ts';

describe('alerts by mail', { timeout: 120_000 }, () => {
  let service: TestService;
  let server: MailServer;
  let errors: string[] = [];
  /** The time that has passed for the nodes of a test, but not for the service, which must not evaluate as well. */
  let passed = 0;
  const advance = (milliseconds: number): void => {
    passed += milliseconds;
  };
  const now = (): number => service.now() + passed;
  before(async () => {
    service = await startTestService();
    service.stopTime();
  });
  after(() => service.stop());
  beforeEach(async () => {
    server = await MailServer.start();
    errors = [];
  });
  afterEach(() => server.stop());

  /** A node that evaluates and sends when a test says so. */
  const newNode = (
    address: SmtpServer = server.address(),
    send = (mail: Mail): Promise<void> => new SmtpSender(address).send(mail),
  ) => {
    const services = { ...service.core, clock: now };
    const options = {
      send,
      consoleUrl: () => 'https://console.example.com',
      from: 'vault@example.com',
      onError: (error: unknown) => void errors.push(String(error)),
    };
    const mails = new AlertMails(services, options);
    const countOverdueKeys = async () => ({ count: 0, since: undefined });
    const sources = { ...service.core, certificateEnd: () => undefined, countOverdueKeys };
    return {
      evaluate: () => new AlertEvaluation(services, sources, (...change) => mails.queue(...change)).run(),
      send: () => mails.send(),
      options,
    };
  };

  /** An account with an owner, and an alert of high severity. */
  const newAlertedOwner = async (name = 'Harbour Books') => {
    const account = await service.newAccount(name);
    const owner = await newPerson(service, account, 'owner');
    await service.enablePayments(account);
    return { account, owner };
  };

  const expire = (account: string, key: string, days: number): Promise<void> =>
    commitOrThrow(service.core.database, {
      writes: [
        write(
          'update api_keys set expires_at = ? where account = ?account and id = ?',
          [now() + days * DAY, account, key],
          1,
        ),
      ],
    });
  const addExpiringKey = async (account: string, days: number): Promise<string> => {
    const { id } = await service.newKey(account, { permissions: ['tokens:inspect'], name: 'Secret Shop' });
    await expire(account, id, days);
    return id;
  };

  const mailsTo = ({ email }: { readonly email: string }) => server.mails.filter(({ to }) => to.includes(email));

  test('come over TLS with authentication, and name the kind, the account and the console', async () => {
    const { account, owner } = await newAlertedOwner();
    await owner.call(editProfile, { body: { name: 'Call +57 300 to keep your account' } });
    const node = newNode();
    await addExpiringKey(account, 10);
    await node.evaluate();
    await node.send();
    assert.deepEqual(errors, []);
    const [mail] = mailsTo(owner);
    assert.match(mail?.text ?? '', /Subject: cardvault: one alert\r\n/);
    assert.ok(mail?.text.includes('- High: An operator changed settings (Harbour Books, sandbox)'), mail?.text);
    assert.ok(mail?.text.includes('https://console.example.com/alerts'));
    // The key expires in ten days, which is of medium severity. Texts of members never come by mail: names of keys and users.
    for (const text of ['Secret Shop', 'API key', '+57 300', 'keep your account'])
      assert.ok(!mail?.text.includes(text), text);
    await node.send();
    assert.equal(mailsTo(owner).length, 1);
  });

  test('name an account that was altered in the database by its id', async () => {
    const { account, owner } = await newAlertedOwner();
    const node = newNode();
    await node.evaluate();
    const rename = (name: string): Promise<void> =>
      commitOrThrow(service.core.database, {
        writes: [write('update accounts set name = ? where id = ?', [name, account], 1)],
      });
    await rename('Call +57 300 to keep your account');
    await node.send();
    const [mail] = mailsTo(owner);
    assert.ok(mail?.text.includes(`- High: An operator changed settings (${account}, sandbox)`), mail?.text);
    for (const text of ['+57 300', 'keep your account']) assert.ok(!mail?.text.includes(text), text);
    await rename('Harbour Books');
  });

  test('come at most every ten minutes, together, and in the language of the user', async () => {
    const { account, owner } = await newAlertedOwner('Librería Ñandú');
    await owner.call(editProfile, { body: { language: 'es' } });
    const node = newNode();
    await node.evaluate();
    await node.send();
    advance(2 * MINUTE);
    await addExpiringKey(account, 1);
    await addExpiringKey(account, 2);
    await node.evaluate();
    await node.send();
    assert.equal(mailsTo(owner).length, 1);
    advance(9 * MINUTE);
    await node.send();
    assert.equal(mailsTo(owner).length, 2);
    const last = mailsTo(owner).at(-1)?.text ?? '';
    assert.match(last, /Subject: cardvault: 2 alertas\r\n/);
    assert.equal(last.match(/- Alta: Una clave de API vence pronto \(Librería Ñandú, sandbox\)/g)?.length, 2, last);
  });

  test('are sent once by several nodes, and again after a failure or a crash', async () => {
    const { owner } = await newAlertedOwner();
    await newNode().evaluate();
    server.isFull = true;
    await newNode().send();
    assert.equal(errors.length, 1);
    assert.match(errors[0] ?? '', /MailError: the SMTP server did not accept a mail: \w+ 451$/);
    assert.equal(mailsTo(owner).length, 0);
    server.isFull = false;
    const nodes = [newNode(), newNode(), newNode()];
    await Promise.all(nodes.map((node) => node.send()));
    assert.equal(mailsTo(owner).length, 0);
    advance(2 * MINUTE);
    await Promise.all(nodes.map((node) => node.send()));
    assert.equal(mailsTo(owner).length, 1);
    advance(11 * MINUTE);
    await Promise.all(nodes.map((node) => node.send()));
    assert.equal(mailsTo(owner).length, 1);
  });

  test('come again about an alert that becomes severe while its mail is being sent', async () => {
    const account = await service.newAccount('Harbour Books');
    const owner = await newPerson(service, account, 'owner');
    assert.equal((await owner.call(chooseAlertMails, { body: { level: 'all', muted: [] } })).status, 200);
    const key = await addExpiringKey(account, 10);
    await newNode().evaluate();
    const sender = new SmtpSender(server.address());
    const slow = newNode(server.address(), async (mail) => {
      await expire(account, key, 1);
      await newNode().evaluate();
      await sender.send(mail);
    });
    await slow.send();
    assert.match(mailsTo(owner)[0]?.text ?? '', /- Medium: An API key expires soon/);
    advance(11 * MINUTE);
    for (let round = 0; round < 2; round++) await newNode().send();
    const [first, second, ...more] = mailsTo(owner);
    assert.match(second?.text ?? '', /- High: An API key expires soon/);
    assert.deepEqual(more, []);
    // A server drops a second mail with the same id.
    const idOf = (mail: ReceivedMail | undefined) => /^Message-ID: <([^>]+)>/im.exec(mail?.text ?? '')?.[1];
    assert.ok(idOf(first) !== undefined && idOf(first) !== idOf(second));
  });

  test('end at a deadline when the server keeps sending a little, before another node may send them', async () => {
    const connections: Socket[] = [];
    const dripping = createServer((socket) => {
      connections.push(socket);
      socket.on('error', () => undefined);
      const timer = setInterval(() => socket.write('220-wait\r\n'), 20);
      socket.on('close', () => clearInterval(timer));
    });
    await new Promise<void>((resolve) => dripping.listen(0, '127.0.0.1', resolve));
    const { port } = dripping.address() as AddressInfo;
    const mail = { to: 'ana@example.com', subject: 'test', text: 'test', messageId: '<a@example.com>' };
    const started = performance.now();
    try {
      await assert.rejects(new SmtpSender(server.address({ port }), { deadlineMs: 300 }).send(mail), /EABORT/);
      assert.ok(performance.now() - started < 10_000);
      await eventually(async () => connections.length === 1 && connections.every(({ destroyed }) => destroyed));
    } finally {
      for (const connection of connections) connection.destroy();
      dripping.close();
    }
  });

  test('are not begun when the claim of their recipient has nearly ended', async () => {
    const { owner } = await newAlertedOwner();
    await newNode().evaluate();
    const late = newNode();
    let reads = 0;
    const { database } = service.core;
    const slow = new AlertMails(
      {
        ...service.core,
        clock: now,
        database: {
          ...database,
          commit: (unit) => database.commit(unit),
          read: async (sql, ...values) => {
            // The read after the claim takes so long that another node may send the mail when this one is done.
            if (sql.includes('from alert_mails where person') && reads++ === 0) advance(SEND_DEADLINE_MS);
            return database.read(sql, ...values);
          },
        } as Database,
      },
      { ...late.options, send: () => assert.fail('must not send') },
    );
    await slow.send();
    assert.deepEqual([errors, mailsTo(owner)], [[], []]);
    advance(2 * SEND_DEADLINE_MS);
    await late.send();
    assert.equal(mailsTo(owner).length, 1);
  });

  test('stop with the first failure of a round, and come to the others in the next one', async () => {
    const owners = [(await newAlertedOwner()).owner, (await newAlertedOwner()).owner];
    const node = newNode();
    await node.evaluate();
    server.isFull = true;
    await node.send();
    assert.equal(errors.length, 1);
    server.isFull = false;
    await node.send();
    assert.equal(owners.flatMap(mailsTo).length, 1);
    advance(2 * MINUTE);
    await node.send();
    assert.equal(owners.flatMap(mailsTo).length, 2);
  });

  test('do not come about causes that have ended, or to users who have left or are disabled', async () => {
    const [ended, left, disabled] = [await newAlertedOwner(), await newAlertedOwner(), await newAlertedOwner()];
    const node = newNode();
    await node.evaluate();
    const { database, keyring } = service.core;
    const state = (await findSignInState(database, keyring, disabled.owner.id)) ?? assert.fail('no state');
    await commitOrThrow(database, {
      writes: [
        await updateSignInState(keyring, state, { ...state, disabledAt: now() }),
        write('delete from alerts where account = ?account', [ended.account]),
        write('delete from memberships where account = ?account', [left.account]),
      ],
    });
    await node.send();
    assert.deepEqual(server.mails, []);
    assert.deepEqual(await database.read('select person from alert_mails'), []);
  });

  test('are those that the user chose', async () => {
    const { account, owner } = await newAlertedOwner();
    assert.deepEqual((await owner.call(showAlertMails)).json, {
      is_available: false,
      is_confirmed: true,
      level: 'high',
      muted: [],
    });
    const choose = async (level: string, muted: readonly string[]) =>
      assert.equal((await owner.call(chooseAlertMails, { body: { level, muted } })).status, 200);
    await choose('none', []);
    const node = newNode();
    await node.evaluate();
    await choose('all', ['key-expires']);
    await addExpiringKey(account, 1);
    advance(MINUTE);
    await node.evaluate();
    await node.send();
    assert.deepEqual(mailsTo(owner), []);
    await choose('all', []);
    await addExpiringKey(account, 10);
    await newNode().evaluate();
    await node.send();
    assert.match(mailsTo(owner)[0]?.text ?? '', /- Medium: An API key expires soon/);
    assert.deepEqual((await owner.call(showAlertMails)).json.muted, []);
    assert.equal((await owner.call(chooseAlertMails, { body: { level: 'some', muted: [] } })).status, 400);
  });

  test('are never sent to a server without TLS or with another certificate, and errors hold no password', async () => {
    const mail = { to: 'ana@example.com', subject: 'test', text: 'test', messageId: '<a@example.com>' };
    const plain = await MailServer.start({ hasTls: false });
    const refused: [SmtpServer, RegExp][] = [
      [plain.address(), /ETLS|ESOCKET|EPROTOCOL/],
      [server.address({ ca: '' }), /ESOCKET|ETLS/],
      [server.address({ password: 'another password' }), /EAUTH 535/],
      [server.address({ port: 1 }), /ESOCKET|ECONNECTION/],
    ];
    for (const [address, code] of refused)
      await assert.rejects(new SmtpSender(address).send(mail), (error: Error) => {
        assert.match(error.message, code);
        assert.ok(!/password/.test(`${error.message} ${error.stack} ${String(error.cause)}`));
        return true;
      });
    assert.deepEqual([plain.mails, server.mails], [[], []]);
    await plain.stop();
    const folder = mkdtempSync(join(tmpdir(), 'cardvault-smtp-'));
    writeFileSync(join(folder, 'password'), `${SMTP_PASSWORD}\n`);
    await new SmtpSender(server.address({ passwordFile: join(folder, 'password'), password: undefined })).send(mail);
    rmSync(folder, { recursive: true });
    assert.equal(server.mails.length, 1);
  });

  test('do not delay the destruction of records while the server does not respond', async () => {
    const connections: Socket[] = [];
    const silent = createServer((socket) => connections.push(socket));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const variables = {
      CARDVAULT_SMTP_URL: `smtp://127.0.0.1:${(silent.address() as AddressInfo).port}`,
      CARDVAULT_SMTP_FROM: 'vault@example.com',
    };
    const sending = await startTestService({ variables });
    try {
      const caller = await newCaller(sending);
      await newPerson(sending, caller.account, 'owner');
      await sending.enablePayments(caller.account);
      await eventually(async () => {
        sending.advance(MINUTE);
        return connections.length > 0;
      });
      await caller.capture();
      const stored = 'select id from captures where account = ?account';
      assert.equal((await sending.core.database.read(stored, caller.account)).length, 1);
      await eventually(async () => {
        sending.advance(DAY);
        return (await sending.core.database.read(stored, caller.account)).length === 0;
      });
      assert.ok(connections.some(({ readyState }) => readyState === 'open'));
    } finally {
      for (const connection of connections) connection.destroy();
      await sending.stop();
      silent.close();
    }
  });

  test('go to a new address when the user has entered the code that was sent there; the old one gets a notice', async () => {
    const variables = { CARDVAULT_SMTP_URL: server.url, CARDVAULT_SMTP_FROM: 'vault@example.com' };
    const sending = await startTestService({ variables });
    try {
      const account = await sending.newAccount();
      const owner = await newPerson(sending, account, 'owner');
      const [old, fresh] = [{ email: owner.email }, { email: 'fresh@example.com' }];
      const until = (condition: () => boolean) =>
        eventually(async () => {
          sending.advance(20 * SECOND);
          // The session would end without a use.
          successData(await owner.call(showAlertMails));
          return condition();
        });
      assertRefused(await owner.call(sendEmailCode), 'not_possible');
      await owner.stepUp();
      successData(await owner.call(changeEmail, { body: fresh }));
      const changedAt = sending.now();
      await until(() => mailsTo(old).length > 0);
      const [notice = ''] = mailsTo(old).map(({ text }) => text);
      assert.match(notice, /Subject: cardvault: your email address was changed\r\n/);
      assert.ok(notice.includes('https://localhost:') && !notice.includes(fresh.email) && !notice.includes(owner.name));
      assert.equal(successData(await owner.call(showAlertMails)).is_confirmed, false);
      // No alert goes to an address that only the user has stated, nor to the old one.
      await sending.enablePayments(account);
      await until(() => sending.now() > changedAt + 5 * MINUTE);
      assert.deepEqual([mailsTo(old).length, mailsTo(fresh).length], [1, 0]);

      successData(await owner.call(sendEmailCode));
      assertRefused(await owner.call(sendEmailCode), 'rate_limited');
      await until(() => mailsTo(fresh).length > 0);
      const code = /^[a-z1-9]{4}-[a-z1-9]{4}-[a-z1-9]{4}$/m.exec(mailsTo(fresh)[0]?.text ?? '')?.[0] ?? '';
      const confirm = (text: string) => owner.call(confirmEmail, { body: { code: text } });
      assertRefused(await confirm('aaaa-bbbb-cccc'), 'invalid_field', 'code');
      successData(await confirm(` ${code.toUpperCase()} `));
      assertRefused(await confirm(code), 'not_possible');
      assert.equal(successData(await owner.call(showAlertMails)).is_confirmed, true);
      const { records } = successData(await owner.call(listAudit, { params: { account }, body: { action: 'email.' } }));
      assert.deepEqual(
        records.map(({ action }: { action: string }) => action),
        ['email.confirmed', 'email.changed'],
      );
      await sending.newKey(account, { expiresAt: sending.now() + DAY });
      await until(() => mailsTo(fresh).length > 1);
      assert.match(mailsTo(fresh)[1]?.text ?? '', /Subject: cardvault: one alert\r\n/);
      assert.equal(mailsTo(old).length, 1);
      assert.deepEqual(await sending.core.database.read('select id from person_mails'), []);
    } finally {
      await sending.stop();
    }
  });

  test('bring a code to the address that it confirms, although the call has read an earlier one', async (t) => {
    const variables = { CARDVAULT_SMTP_URL: server.url, CARDVAULT_SMTP_FROM: 'vault@example.com' };
    const sending = await startTestService({ variables });
    try {
      const owner = await newPerson(sending, await sending.newAccount(), 'owner');
      const [old, fresh] = [{ email: owner.email }, { email: 'fresh@example.com' }];
      const { people } = sending.console.people;
      const before = (await people.findProfile(owner.id)) ?? assert.fail('no user');
      successData(await owner.call(changeEmail, { body: fresh }));
      const { mock } = t.mock.method(people, 'findProfile', () => Promise.resolve(before));
      successData(await owner.call(sendEmailCode));
      assert.ok(mock.callCount() > 0);
      mock.restore();
      const readCode = (address: { email: string }): string | undefined =>
        mailsTo(address)
          .map(({ text }) => /^[a-z1-9]{4}-[a-z1-9]{4}-[a-z1-9]{4}$/m.exec(text)?.[0])
          .find((found) => found !== undefined);
      await eventually(async () => {
        sending.advance(20 * SECOND);
        // The session would end without a use.
        successData(await owner.call(showAlertMails));
        return mailsTo(old).length > 0 && mailsTo(old).length + mailsTo(fresh).length > 1;
      });
      assert.equal(readCode(old), undefined);
      successData(await owner.call(confirmEmail, { body: { code: readCode(fresh) } }));
    } finally {
      await sending.stop();
    }
  });

  test('tell users of changes of their sign-in, and of a new browser, at a confirmed address only', async () => {
    const variables = { CARDVAULT_SMTP_URL: server.url, CARDVAULT_SMTP_FROM: 'vault@example.com' };
    const sending = await startTestService({ variables });
    try {
      const owner = await newPerson(sending, await sending.newAccount(), 'owner');
      const subjects = (): string[] =>
        mailsTo(owner).map(({ text }) => /Subject: cardvault: ([^\r]*)/.exec(text)?.[1] ?? '');
      const until = (count: number) =>
        eventually(async () => {
          sending.advance(SECOND);
          return subjects().length >= count;
        });
      await owner.stepUp();
      successData(await owner.call(createRecoveryCodes));
      await until(1);
      successData(await owner.call(changePassword, { body: { current: PASSWORD, password: 'another good one 55' } }));
      await until(2);
      await signIn({ ...owner, password: 'another good one 55' });
      await until(3);
      assert.deepEqual(subjects().toSorted(), [
        'sign-in with a new browser',
        'your password was changed',
        'your second factors were changed',
      ]);
      assert.ok(mailsTo(owner).every(({ text }) => !text.includes(owner.name)));
      successData(await owner.call(changeEmail, { body: { email: 'unconfirmed@example.com' } }));
      successData(await owner.call(createRecoveryCodes));
      await until(4);
      assert.equal(mailsTo({ email: 'unconfirmed@example.com' }).length, 0);
    } finally {
      await sending.stop();
    }
  });

  test('are sent by a service with the settings', async () => {
    const variables = { CARDVAULT_SMTP_URL: server.url, CARDVAULT_SMTP_FROM: 'vault@example.com' };
    const sending = await startTestService({ variables });
    try {
      const account = await sending.newAccount();
      const owner = await newPerson(sending, account, 'owner');
      assert.equal((await owner.call(showAlertMails)).json.is_available, true);
      await sending.enablePayments(account);
      await eventually(async () => {
        sending.advance(20 * SECOND);
        return mailsTo(owner).length > 0;
      });
      assert.ok(mailsTo(owner)[0]?.text.includes('https://localhost:'));
      assert.ok(!sending.log.some((line) => line.includes(SMTP_PASSWORD)));
    } finally {
      await sending.stop();
    }
  });
});
