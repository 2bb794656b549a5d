import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect as connectPlain } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createServer, type SecureContextOptions, type TLSSocket } from 'node:tls';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { dial, exchange, requestText, type WireOptions } from '../fixtures/wire.ts';

/** Settings of a client that offers obsolete versions and suites. */
const OLD = '@SECLEVEL=0';

const LISTENERS = ['production', 'sandbox', 'console', 'cards'] as const;

describe('TLS', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  const spoken = async (options: WireOptions): Promise<{ version: string | null; suite: string }> => {
    const socket = await dial(service, options);
    const found = { version: socket.getProtocol(), suite: socket.getCipher().standardName };
    socket.destroy();
    return found;
  };

  for (const environment of LISTENERS) {
    test(`1.2 and 1.3 are accepted on the ${environment} listener`, async () => {
      for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
        const options = { environment, minVersion: version, maxVersion: version };
        assert.equal((await spoken(options)).version, version);
        const [response] = await exchange(service, requestText('GET /healthz'), options);
        assert.equal(response?.status, 200);
      }
    });

    test(`1.0 and 1.1 are rejected on the ${environment} listener`, async () => {
      for (const version of ['TLSv1', 'TLSv1.1'] as const) {
        const options = { minVersion: version, maxVersion: version, ciphers: `DEFAULT${OLD}` };
        await assert.rejects(spoken({ environment, ...options }), /alert protocol version/);
        assert.equal(await spokenWithAnyone(options), version, 'the client can speak it');
      }
    });
  }

  const SUITES = [
    'ECDHE-ECDSA-AES256-GCM-SHA384',
    'ECDHE-ECDSA-AES128-GCM-SHA256',
    'ECDHE-ECDSA-CHACHA20-POLY1305',
  ] as const;
  for (const ciphers of SUITES) {
    test(`1.2 with ${ciphers} is accepted`, async () => {
      const { suite } = await spoken({ maxVersion: 'TLSv1.2', ciphers });
      assert.match(suite, /^TLS_ECDHE_ECDSA_WITH_.+(GCM_SHA(256|384)|POLY1305_SHA256)$/);
    });
  }

  const REFUSED = [
    'ECDHE-ECDSA-AES256-SHA384',
    'ECDHE-ECDSA-AES128-SHA256',
    'ECDHE-ECDSA-AES256-SHA',
    'ECDHE-ECDSA-AES128-SHA',
    'ECDHE-ECDSA-NULL-SHA',
  ] as const;
  for (const suite of REFUSED) {
    test(`1.2 with ${suite} is rejected`, async () => {
      const options = { maxVersion: 'TLSv1.2', ciphers: suite + OLD } as const;
      await assert.rejects(spoken(options), /handshake failure/);
      assert.equal(await spokenWithAnyone(options), 'TLSv1.2', 'the client can speak it');
    });
  }

  test('the certificate is for localhost and both loopback addresses, and its CA is in the data directory', async () => {
    for (const servername of ['localhost', '127.0.0.1', '::1']) {
      const socket = await dial(service, { ...(servername === 'localhost' && { servername }), host: '127.0.0.1' });
      assert.ok(socket.authorized);
      const names = socket.getPeerCertificate().subjectaltname ?? '';
      for (const name of ['DNS:localhost', 'IP Address:127.0.0.1', 'IP Address:0:0:0:0:0:0:0:1'])
        assert.ok(names.includes(name), names);
      socket.destroy();
    }
    await assert.rejects(dial(service, { ca: [] }), /certificate/);
  });

  for (const environment of LISTENERS) {
    test(`plain HTTP to the ${environment} port is not served`, async () => {
      const socket = connectPlain(service.ports[environment], '127.0.0.1');
      socket.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
      const chunks: Buffer[] = [];
      socket.on('data', (chunk: Buffer) => chunks.push(chunk));
      socket.on('error', () => undefined);
      await new Promise((resolve) => socket.on('close', resolve));
      const received = Buffer.concat(chunks).toString('latin1');
      assert.doesNotMatch(received, /HTTP|ok|200/);
      assert.ok(received.length <= 16, 'an alert at most');
    });
  }

  /** A server of this test that speaks everything: when a client fails with ours and not with it, ours refused. */
  function spokenWithAnyone(client: SecureContextOptions): Promise<string | null> {
    const folder = join(service.directory, 'tls');
    const server = createServer({
      cert: readFileSync(join(folder, 'server.pem')),
      key: readFileSync(join(folder, 'server.pem')),
      minVersion: 'TLSv1',
      ciphers: `ALL:eNULL${OLD}`,
    });
    return new Promise((resolve, reject) => {
      server.listen(0, '127.0.0.1', () => {
        const { port } = server.address() as { port: number };
        const ports = { production: port, sandbox: port, console: port, cards: port };
        dial({ ...service, ports }, client)
          .then((socket: TLSSocket) => {
            const version = socket.getProtocol();
            socket.destroy();
            resolve(version);
          }, reject)
          .finally(() => server.close());
      });
    });
  }
});

describe('CARDVAULT_TLS_MAX_VERSION=1.2', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService({ variables: { CARDVAULT_TLS_MAX_VERSION: '1.2' } });
  });
  after(() => service.stop());

  for (const environment of LISTENERS) {
    test(`pins the ${environment} listener to 1.2`, async () => {
      const socket = await dial(service, { environment });
      assert.equal(socket.getProtocol(), 'TLSv1.2');
      socket.destroy();
      await assert.rejects(dial(service, { environment, minVersion: 'TLSv1.3' }), /alert protocol version/);
    });
  }
});
