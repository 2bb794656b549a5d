import assert from 'node:assert/strict';
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { afterEach, before, beforeEach, describe, test } from 'node:test';
import { type AuditVault, openAuditVault } from '../../test/fixtures/audit-vault.ts';
import { certify, OtlpServer, parseSyslog, SyslogServer } from '../../test/fixtures/receivers.ts';
import { createSelfSigned } from '../crypto/certificate.ts';
import { MINUTE } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { Value } from '../storage/database.ts';
import { type ChainedRecord, emptyHead, hashRecord } from '../storage/journal.ts';
import { JournalTail, measureLag } from './journal-tail.ts';
import { OtlpReceiver, parseHeaders } from './otlp.ts';
import { type Receiver, ReceiverError, Shipping } from './shipping.ts';
import { formatSyslogMessage, SyslogReceiver } from './syslog.ts';

const holdsLease = () => Promise.resolve(true);

describe('sending the audit log', { timeout: 120_000 }, () => {
  let certified: Awaited<ReturnType<typeof certify>>;
  let vault: AuditVault;
  const tls = () => ({ caFile: vault.file('ca.pem'), certificate: undefined });
  const shippingTo = (receiver: Receiver): Shipping =>
    new Shipping({ ...vault, clock: vault.clock, receiver, holdsLease });
  const codeOf = async (run: Promise<void>): Promise<string> => {
    let code = 'none';
    await assert.rejects(run, (error: unknown) => {
      assert.ok(error instanceof ReceiverError, String(error));
      code = error.code;
      return true;
    });
    return code;
  };

  before(async () => {
    certified = await certify();
  });
  beforeEach(async () => {
    vault = await openAuditVault();
    writeFileSync(vault.file('ca.pem'), certified.ca);
    await vault.record('', 2);
    await vault.record('acct_a', 3);
    await vault.record('acct_b', 2);
  });
  afterEach(() => vault.close());

  describe('to a syslog server', () => {
    let server: SyslogServer;
    const receiver = (port = server.port) => new SyslogReceiver({ host: '127.0.0.1', port }, tls(), 'vault.example');
    const keysOf = () => server.messages.map(({ data }) => `${data['account']}/${data['lane']} ${data['sequence']}`);

    beforeEach(async () => {
      server = await SyslogServer.start(certified);
    });
    afterEach(async () => {
      assert.deepEqual(server.errors, []);
      await server.stop();
    });

    test('delivers each record in the order of its chain, with all that its hash covers', async () => {
      const shipping = shippingTo(receiver());
      await shipping.run();
      assert.equal(server.messages.length, 9);
      assert.equal(server.connections, 1);
      const last = new Map<string, { sequence: number; hash: string }>();
      for (const { data, message, facility, severity, id, app, host } of server.messages) {
        const { account = '', lane = '', sequence = '', environment = '', at = '', hash = '' } = data;
        const head = last.get(account) ?? emptyHead(account, 1);
        const entry = { account, environment, at: Number(at), record: message };
        assert.equal(Number(sequence), head.sequence + 1);
        assert.equal(hashRecord(head.hash, Number(lane), Number(sequence), entry), hash);
        last.set(account, { sequence: Number(sequence), hash });
        assert.deepEqual([facility, severity, app, host], [13, 6, 'cardvault', 'vault.example']);
        assert.equal(id, JSON.parse(message).action);
      }
      assert.deepEqual(await measureLag(vault.database, 'syslog'), { records: 0, oldest: undefined });
      await shipping.run();
      await vault.record('acct_a', 1);
      await shipping.run();
      assert.deepEqual(keysOf().slice(9), ['acct_a/1 4']);
      assert.equal(server.connections, 2);
    });

    test('sends records again that the server may not have, and waits longer each time', async () => {
      const shipping = shippingTo(receiver());
      server.isRefusing = true;
      assert.match(await codeOf(shipping.run()), /^(closed|ECONNRESET|EPIPE)$/);
      const lag = await measureLag(vault.database, 'syslog');
      assert.deepEqual(lag, { records: 9, oldest: vault.now });
      server.isRefusing = false;
      await shipping.run();
      assert.equal(server.messages.length, 0);
      vault.now += 1000;
      await shipping.run();
      assert.equal(server.messages.length, 9);
      server.isRefusing = true;
      await vault.record('acct_b', 1);
      for (let failures = 0; failures < 12; failures++) {
        vault.now += 5 * MINUTE;
        await codeOf(shipping.run());
      }
      server.isRefusing = false;
      vault.now += 4 * MINUTE;
      await shipping.run();
      assert.equal(server.messages.length, 9);
      vault.now += MINUTE;
      await shipping.run();
      assert.deepEqual(keysOf().slice(9), ['acct_b/1 3']);
    });

    test('sends records again when it ended before their positions were stored', async () => {
      const database = {
        read: (sql: string, ...values: readonly Value[]) => vault.database.read(sql, ...values),
        commit: () => Promise.reject(new Error('killed')),
      } as unknown as AuditVault['database'];
      const killed = new Shipping({ database, clock: vault.clock, receiver: receiver(), holdsLease });
      await assert.rejects(killed.run(), /killed/);
      assert.equal(server.messages.length, 9);
      await shippingTo(receiver()).run();
      assert.equal(server.messages.length, 18);
      assert.equal(new Set(keysOf()).size, 9);
    });

    test('checks the certificate and name of the server, and reports codes only', async () => {
      writeFileSync(vault.file('ca.pem'), (await certify()).ca);
      assert.match(await codeOf(shippingTo(receiver()).run()), /^(UNABLE_TO_VERIFY|SELF_SIGNED|CERT)[A-Z_]*$/);
      writeFileSync(vault.file('ca.pem'), certified.ca);
      const other = new SyslogReceiver({ host: '127.0.0.2', port: server.port }, tls(), 'vault.example');
      assert.match(await codeOf(shippingTo(other).run()), /^(ERR_TLS_CERT_ALTNAME_INVALID|ECONNREFUSED)$/);
      const missing = new SyslogReceiver(
        { host: '127.0.0.1', port: server.port },
        { caFile: vault.file('none.pem'), certificate: undefined },
        'vault.example',
      );
      assert.equal(await codeOf(shippingTo(missing).run()), 'file-ENOENT');
      assert.equal(server.messages.length, 0);
    });

    test('presents a certificate of its own', async () => {
      const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
      const der = Buffer.from(await createSelfSigned(privateKey, 'cardvault', Date.now()));
      const certificate = new X509Certificate(der).toString();
      const strict = await SyslogServer.start(certified, certificate);
      try {
        await codeOf(shippingTo(receiver(strict.port)).run());
        writeFileSync(vault.file('client.pem'), certificate);
        writeFileSync(vault.file('client-key.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
        const files = { certificateFile: vault.file('client.pem'), keyFile: vault.file('client-key.pem') };
        const own = new SyslogReceiver({ host: '127.0.0.1', port: strict.port }, { ...tls(), certificate: files }, 'v');
        await shippingTo(own).run();
        assert.equal(strict.messages.length, 9);
      } finally {
        await strict.stop();
      }
    });

    test('continues behind the stored positions after a restart, and passes over removed records', async () => {
      await shippingTo(receiver()).run();
      await vault.record('acct_a', 3);
      await vault.run('delete from journal where account > 0 and sequence in (4, 5)');
      await shippingTo(receiver()).run();
      assert.deepEqual(keysOf().slice(9), ['acct_a/1 6']);
    });

    test('escapes what a record contains', () => {
      const link: ChainedRecord = {
        ...emptyHead('a"]\\b', 1),
        sequence: 1,
        environment: '',
        at: 0,
        record: '{"action":"a b\\u00e9\\n","outcome":"no","x":"é]\\" 1 <13>"}',
      };
      const { data, message, id, severity, host } = parseSyslog(Buffer.from(formatSyslogMessage(link, 'my host')));
      assert.deepEqual([data['account'], message, id, severity, host], ['a"]\\b', link.record, 'ab', 4, 'myhost']);
      const unreadable = parseSyslog(Buffer.from(formatSyslogMessage({ ...link, record: 'x', at: -5 }, '')));
      assert.deepEqual([unreadable.id, unreadable.host, unreadable.message], ['-', '-', 'x']);
    });
  });

  describe('to an OpenTelemetry collector', () => {
    let server: OtlpServer;
    let rejected: number;
    const receiver = (): OtlpReceiver =>
      new OtlpReceiver({
        url: new URL(`https://localhost:${server.port}/v1/logs`),
        headersFile: vault.file('headers'),
        tls: tls(),
        version: '1.2.3',
        onRejected: (count) => {
          rejected += count;
        },
      });

    beforeEach(async () => {
      server = await OtlpServer.start(certified);
      rejected = 0;
      writeFileSync(vault.file('headers'), 'Authorization: Bearer canary-secret\nX-Tenant: one\n');
    });
    afterEach(async () => {
      assert.deepEqual(server.errors, []);
      await server.stop();
    });

    test('delivers each record as a log record, with the headers of the file', async () => {
      await shippingTo(receiver()).run();
      assert.equal(server.records.length, 9);
      const [{ headers } = { headers: {} as never }] = server.requests;
      assert.deepEqual([headers['authorization'], headers['x-tenant']], ['Bearer canary-secret', 'one']);
      const record = server.records.find(({ attributes }) => attributes['cardvault.account'] === 'acct_a');
      assert.equal(record?.eventName, 'capture.retrieved');
      assert.equal(record?.timeUnixNano, `${vault.now}000000`);
      assert.deepEqual(Object.keys(record?.attributes ?? {}), [
        ...['cardvault.account', 'cardvault.lane', 'cardvault.sequence', 'cardvault.environment', 'cardvault.at'],
        'cardvault.hash',
      ]);
    });

    test('sends again after an error, and not before the collector wants it', async () => {
      const shipping = shippingTo(receiver());
      server.responses.push({ status: 503, headers: { 'retry-after': '60' } }, { status: 401, body: 'canary' });
      assert.equal(await codeOf(shipping.run()), 'status-503');
      vault.now += 59_000;
      await shipping.run();
      assert.equal(server.records.length, 0);
      vault.now += 1000;
      assert.equal(await codeOf(shipping.run()), 'status-401');
      vault.now += MINUTE;
      await shipping.run();
      assert.equal(server.records.length, 9);
    });

    test('counts records that the collector rejects permanently, and does not send them again', async () => {
      server.responses.push({ status: 200, body: '{"partialSuccess":{"rejectedLogRecords":"2","errorMessage":"no"}}' });
      const shipping = shippingTo(receiver());
      await shipping.run();
      await shipping.run();
      assert.deepEqual([rejected, server.records.length], [2, 9]);
    });

    test('rejects a malformed file of headers without quoting it', async () => {
      for (const text of ['canary', 'Name canary', 'X: a\u0000b', `X: ${'a'.repeat(20_000)}`]) {
        writeFileSync(vault.file('headers'), text);
        assert.match(await codeOf(shippingTo(receiver()).run()), /^headers-file-[a-z-]+$/);
      }
      assert.deepEqual(parseHeaders('A: b: c \n\nD:e'), { a: 'b: c', d: 'e' });
      assert.equal(server.records.length, 0);
    });
  });

  describe('reads the log', () => {
    test('in turns, so that a long chain does not hold up the others', async () => {
      await vault.record('acct_c', 3 * LIMITS.recordsPerShipment);
      const tail = new JournalTail(vault.database, 'otlp', { records: 100, chains: 2 });
      const seen: string[] = [];
      for (let batch = await tail.next(); batch !== undefined; batch = await tail.next()) {
        seen.push(...batch.records.map(({ account, sequence }) => `${account} ${sequence}`));
        assert.ok(batch.records.length <= 100 && batch.advances.length <= 2);
        assert.equal((await vault.database.commit({ writes: tail.advance(batch) })).committed, true);
      }
      assert.equal(new Set(seen).size, seen.length);
      assert.equal(seen.length, 10 + 3 * LIMITS.recordsPerShipment);
      assert.ok(seen.indexOf('acct_b 2') < 200);
    });

    test('once, of two readers of a target that store the same positions', async () => {
      const [one, two] = [1, 2].map(() => new JournalTail(vault.database, 'otlp', { records: 100, chains: 10 }));
      const [first, second] = [await one?.next(), await two?.next()];
      assert.ok(one && two && first && second);
      assert.equal((await vault.database.commit({ writes: one.advance(first) })).committed, true);
      assert.equal((await vault.database.commit({ writes: two.advance(second) })).committed, false);
      assert.equal(await one.next(), undefined);
      assert.equal((await measureLag(vault.database, 'syslog')).records, 9);
    });
  });
});
