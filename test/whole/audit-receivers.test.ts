import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { SECOND } from '../../src/kernel/clock.ts';
import { eventually } from '../fixtures/eventually.ts';
import { certify, OtlpServer, SyslogServer } from '../fixtures/receivers.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';

describe('a service that sends its audit log', { timeout: 120_000 }, () => {
  const directory = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
  let syslog: SyslogServer;
  let collector: OtlpServer;
  let client: Awaited<ReturnType<typeof certify>>;
  let service: TestService;
  const denials = () => [
    syslog.messages.filter(({ id }) => id === 'access.denied').length,
    collector.records.filter(({ eventName }) => eventName === 'access.denied').length,
  ];
  const metric = async (name: string): Promise<Record<string, number>> => {
    const { text } = await service.call('GET', '/metrics', { environment: 'console' });
    const samples = text.matchAll(new RegExp(`^${name}\\{target="([a-z]+)"\\} ([0-9.]+)$`, 'gm'));
    return Object.fromEntries([...samples].map(([, target = '', value]) => [target, Number(value)]));
  };
  before(async () => {
    const certified = await certify();
    [syslog, collector] = [await SyslogServer.start(certified), await OtlpServer.start(certified)];
    writeFileSync(join(directory, 'receivers-ca.pem'), certified.ca);
    client = await certify();
    writeFileSync(join(directory, 'client.pem'), client.certificate);
    writeFileSync(join(directory, 'client.key'), client.key);
    service = await startTestService({
      directory,
      variables: {
        CARDVAULT_AUDIT_SYSLOG: `tls://127.0.0.1:${syslog.port}`,
        CARDVAULT_AUDIT_OTLP: `https://localhost:${collector.port}/v1/logs`,
        CARDVAULT_AUDIT_RECEIVER_CA: join(directory, 'receivers-ca.pem'),
        CARDVAULT_AUDIT_RECEIVER_CERT: join(directory, 'client.pem'),
        CARDVAULT_AUDIT_RECEIVER_KEY: join(directory, 'client.key'),
      },
    });
  });
  after(async () => {
    await service.stop();
    await Promise.all([syslog.stop(), collector.stop()]);
    rmSync(directory, { recursive: true, force: true });
  });

  test('sends each record to both receivers within seconds', async () => {
    await service.call('GET', '/v1/account', {});
    await eventually(async () => {
      service.advance(2 * SECOND);
      return denials().every((count) => count > 0);
    });
    assert.deepEqual([syslog.errors, collector.errors], [[], []]);
    await eventually(async () => {
      service.advance(2 * SECOND);
      const { syslog: one, otlp: other } = await metric('cardvault_audit_unsent_records');
      return one === 0 && other === 0;
    });
  });

  test('measures when its certificate for the receivers ends, as the file has it', async () => {
    const end = async (): Promise<number | undefined> => {
      const { text } = await service.call('GET', '/metrics', { environment: 'console' });
      const found = /^cardvault_client_certificate_end_seconds\{use="audit_receivers"\} (\d+)$/m.exec(text);
      return found === null ? undefined : Number(found[1]);
    };
    assert.equal(await end(), new X509Certificate(client.certificate).validToDate.getTime() / 1000);
    writeFileSync(join(directory, 'client.pem'), 'no certificate');
    assert.equal(await end(), undefined);
    writeFileSync(join(directory, 'client.pem'), client.certificate);
  });

  test('continues to serve requests while a receiver is unavailable, and sends the rest later', async () => {
    syslog.isRefusing = true;
    const before = denials()[0] ?? 0;
    const { status } = await service.call('GET', '/v1/account', { headers: { 'x-api-key': 'cv_sandbox_unknown' } });
    assert.equal(status, 403);
    await eventually(async () => {
      service.advance(2 * SECOND);
      return service.log.some((line) => line.includes('audit log not sent') && line.includes('"task":"syslog"'));
    });
    assert.ok(((await metric('cardvault_audit_unsent_records'))['syslog'] ?? 0) > 0);
    assert.ok(((await metric('cardvault_audit_unsent_age_seconds'))['syslog'] ?? -1) >= 0);
    syslog.isRefusing = false;
    await eventually(async () => {
      service.advance(20 * SECOND);
      return (denials()[0] ?? 0) > before;
    });
  });
});
