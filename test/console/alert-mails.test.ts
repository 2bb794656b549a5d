import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { AlertMails } from '../../console/alerts/alert-mails.ts';
import { AlertEvaluation } from '../../console/alerts/alerts.ts';
import { SmtpSender, type SmtpServer } from '../../console/alerts/smtp.ts';
import { findSignInState, updateSignInState } from '../../console/people/sign-in-state-store.ts';
import { chooseAlertMails, showAlertMails } from '../../console/wire/alerts.ts';
import { editProfile } from '../../console/wire/profile.ts';
import { DAY, MINUTE } from '../../src/kernel/clock.ts';
import { commitOrThrow, write } from '../../src/storage/database.ts';
import { eventually } from '../fixtures/eventually.ts';
import { MailServer, SMTP_PASSWORD } from '../fixtures/smtp.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { newCaller } from '../interface/vault-requests.ts';
import { newPerson } from './console-client.ts';

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
  const newNode = (address: SmtpServer = server.address()) => {
    const services = { ...service.core, clock: now };
    const sender = new SmtpSender(address);
    const mails = new AlertMails(services, {
      send: (mail) => sender.send(mail),
      consoleUrl: () => 'https://console.example.com',
      from: 'vault@example.com',
      onError: (error) => errors.push(String(error)),
    });
    const sources = { ...service.core, certificateEnd: () => undefined };
    return {
      evaluate: () => new AlertEvaluation(services, sources, (...change) => mails.queue(...change)).run(),
      send: () => mails.send(),
    };
  };

  /** An account with an owner, and an alert of high severity. */
  const newAlertedOwner = async (name = 'Harbour Books') => {
    const account = await service.newAccount(name);
    const owner = await newPerson(service, account, 'owner');
    await service.enablePayments(account);
    return { account, owner };
  };

  const addExpiringKey = async (account: string, days: number): Promise<void> => {
    const { id } = await service.newKey(account, { permissions: ['tokens:inspect'], name: 'Secret Shop' });
    const expire = 'update api_keys set expires_at = ? where account = ?account and id = ?';
    await commitOrThrow(service.core.database, {
      writes: [write(expire, [now() + days * DAY, account, id], 1)],
    });
  };

  const mailsTo = ({ email }: { readonly email: string }) => server.mails.filter(({ to }) => to.includes(email));

  test('come over TLS with authentication, and name the kind, the account and the console', async () => {
    const { account, owner } = await newAlertedOwner();
    const node = newNode();
    await addExpiringKey(account, 10);
    await node.evaluate();
    await node.send();
    assert.deepEqual(errors, []);
    const [mail] = mailsTo(owner);
    assert.match(mail?.text ?? '', /Subject: cardvault: one alert\r\n/);
    assert.ok(mail?.text.includes('- High: An operator changed settings (Harbour Books, sandbox)'), mail?.text);
    assert.ok(mail?.text.includes('https://console.example.com/alerts'));
    // The key expires in ten days, which is of medium severity, and names never come by mail.
    assert.ok(!mail?.text.includes('Secret Shop') && !mail?.text.includes('API key'));
    await node.send();
    assert.equal(mailsTo(owner).length, 1);
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
    assert.deepEqual((await owner.call(showAlertMails)).json, { is_available: false, level: 'high', muted: [] });
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

  test('are sent by a service with the settings', async () => {
    const variables = { CARDVAULT_SMTP_URL: server.url, CARDVAULT_SMTP_FROM: 'vault@example.com' };
    const sending = await startTestService({ variables });
    try {
      const account = await sending.newAccount();
      const owner = await newPerson(sending, account, 'owner');
      assert.equal((await owner.call(showAlertMails)).json.is_available, true);
      await sending.enablePayments(account);
      await eventually(async () => {
        sending.advance(MINUTE);
        return mailsTo(owner).length > 0;
      });
      assert.ok(mailsTo(owner)[0]?.text.includes('https://localhost:'));
      assert.ok(!sending.log.some((line) => line.includes(SMTP_PASSWORD)));
    } finally {
      await sending.stop();
    }
  });
});
