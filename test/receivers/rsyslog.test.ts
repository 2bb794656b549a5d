import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Shipping } from '../../src/audit/shipping.ts';
import { SyslogReceiver } from '../../src/audit/syslog.ts';
import { emptyHead, hashRecord } from '../../src/storage/journal.ts';
import { type AuditVault, openAuditVault } from '../fixtures/audit-vault.ts';
import { freePort } from '../fixtures/postgres-server.ts';
import { certify, parseSyslog } from '../fixtures/receivers.ts';
import { onlyLong } from '../scope.ts';

/**
 * The rsyslog of Debian receives the audit log, with the settings of docs/operations.md. The tests do not install it,
 * because its package starts a service: `apt-get install rsyslog rsyslog-gnutls`.
 */
const PROGRAM = '/usr/sbin/rsyslogd';
const isThere = existsSync(PROGRAM) && globSync('/usr/lib/*/rsyslog/lmnsd_gtls.so').length > 0;
const WITHIN_MS = 60_000;

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + WITHIN_MS; performance.now() < end; await pause(50))
    if (await condition()) return;
  assert.fail('the condition was not met in time');
}

const isListening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });

/** `auth`: how the server authenticates clients. The template writes each message as it was received. */
const configuration = (folder: string, port: number, auth: string): string => `
global(
  workDirectory="${folder}"
  maxMessageSize="64k"
  parser.escapeControlCharactersOnReceive="off"
  defaultNetstreamDriverCAFile="${folder}/ca.pem"
  defaultNetstreamDriverCertFile="${folder}/server.pem"
  defaultNetstreamDriverKeyFile="${folder}/server-key.pem"
)
module(load="imtcp" streamDriver.name="gtls" streamDriver.mode="1" streamDriver.authMode="${auth}")
input(type="imtcp" address="127.0.0.1" port="${port}")
template(name="received" type="list") { property(name="rawmsg") constant(value="\\n") }
action(type="omfile" file="${folder}/received" template="received")
`;

describe('rsyslog', { skip: onlyLong || (!isThere && 'no rsyslog with GnuTLS'), timeout: 300_000 }, () => {
  let vault: AuditVault;
  let folder: string;
  let port: number;
  let process: ChildProcess | undefined;
  const file = (name: string): string => join(folder, name);

  const start = async (auth: string): Promise<void> => {
    writeFileSync(file('rsyslog.conf'), configuration(folder, port, auth));
    process = spawn(PROGRAM, ['-n', '-f', file('rsyslog.conf'), '-i', file('pid')], { stdio: 'ignore' });
    await until(() => isListening(port));
  };
  const received = () =>
    existsSync(file('received'))
      ? readFileSync(file('received'), 'utf8')
          .split('\n')
          .filter((line) => line !== '')
          .map((line) => parseSyslog(Buffer.from(line)))
      : [];
  const shipping = (certificate?: { certificateFile: string; keyFile: string }): Shipping =>
    new Shipping({
      ...vault,
      clock: vault.clock,
      receiver: new SyslogReceiver(
        { host: '127.0.0.1', port },
        { caFile: file('ca.pem'), certificate },
        'vault.example',
      ),
      holdsLease: () => Promise.resolve(true),
    });

  beforeEach(async () => {
    vault = await openAuditVault();
    folder = mkdtempSync(join(tmpdir(), 'cardvault-rsyslog-'));
    port = await freePort();
    const { ca, certificate, key } = await certify();
    for (const [name, content] of Object.entries({ ca, server: certificate, 'server-key': key }))
      writeFileSync(file(`${name}.pem`), content);
  });
  afterEach(async () => {
    process?.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
    await vault.close();
  });

  test('receives each record once, with all that its hash covers', async () => {
    await start('anon');
    await vault.record('', 2);
    await vault.record('acct_a', 700);
    await vault.record('acct_b', 3, 'ünïcode "quoted" \\ ]');
    await vault.record('acct_b', 1, 'x'.repeat(40_000));
    await shipping().run();
    await until(() => received().length >= 708);
    const last = new Map<string, { sequence: number; hash: string }>();
    for (const { data, message } of received()) {
      const { account = '', lane = '', sequence = '', environment = '', at = '', hash = '' } = data;
      const head = last.get(account) ?? emptyHead(account, 1);
      const entry = { account, environment, at: Number(at), record: message };
      assert.equal(Number(sequence), head.sequence + 1);
      assert.equal(hashRecord(head.hash, Number(lane), Number(sequence), entry), hash);
      last.set(account, { sequence: Number(sequence), hash });
    }
    // With the two announcements of the accounts' chains.
    assert.deepEqual([...last].map(([account, { sequence }]) => [account, sequence]).sort(), [
      ['', 4],
      ['acct_a', 700],
      ['acct_b', 4],
    ]);
  });

  test('that is stopped and started again misses nothing', async () => {
    await vault.record('acct_a', 5);
    await assert.rejects(shipping().run());
    await start('anon');
    await shipping().run();
    await until(() => received().length >= 5);
    const before = received().length;
    process?.kill('SIGKILL');
    await until(async () => !(await isListening(port)));
    await vault.record('acct_a', 5);
    await assert.rejects(shipping().run());
    await start('anon');
    await shipping().run();
    await until(() => received().length >= before + 5);
    const sequences = received()
      .filter(({ data }) => data['account'] === 'acct_a')
      .map(({ data }) => data['sequence']);
    assert.deepEqual([...new Set(sequences)], ['1', '2', '3', '4', '5', '6', '7', '8', '9', '10']);
  });

  test('that wants certificates of its clients gets nothing without one', async () => {
    await start('x509/certvalid');
    await vault.record('acct_a', 5);
    await assert.rejects(shipping().run());
    assert.equal(received().length, 0);
    vault.now += 60_000;
    await shipping({ certificateFile: file('server.pem'), keyFile: file('server-key.pem') }).run();
    await until(() => received().length >= 5);
  });
});
