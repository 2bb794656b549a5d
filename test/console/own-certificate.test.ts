import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { showSession } from '../../console/wire/session.ts';
import { createCa, createServerCertificate } from '../../src/crypto/certificate.ts';
import { newDirectory } from '../fixtures/service-process.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { newClient } from './console-client.ts';

describe('a service with a certificate of the operator', () => {
  const files = newDirectory();
  let service: TestService;
  before(async () => {
    const authority = await createCa(Date.now());
    const server = await createServerCertificate(authority, [{ type: 'dns', value: 'localhost' }], Date.now());
    const [certificate, key] = [join(files, 'server.pem'), join(files, 'key.pem')];
    writeFileSync(certificate, server.certificate);
    writeFileSync(key, server.key);
    const variables = { CARDVAULT_TLS_CERT: certificate, CARDVAULT_TLS_KEY: key };
    service = await startTestService({ variables, authority: authority.certificate });
  });
  after(async () => {
    await service?.stop();
    rmSync(files, { recursive: true });
  });

  test('is identified by it', async () => {
    assert.equal((await service.call('GET', '/v1/account')).status, 403);
  });

  test('offers no CA certificate for clients', async () => {
    const { json } = await newClient(service).call(showSession);
    assert.equal(json.authority, null);
  });
});
