import assert from 'node:assert/strict';
import { createCipheriv, createDecipheriv, createHash, createSecretKey, randomBytes } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { parseConfig } from '../../src/config.ts';
import { openCustody } from '../../src/crypto/custody/choose.ts';
import { keyCheckValue } from '../../src/crypto/custody.ts';
import { runWithSettings } from '../fixtures/command.ts';
import { databaseSettings, dropDatabase } from '../fixtures/database.ts';
import { installLibrary } from '../fixtures/installed-library.ts';
import { newDirectory, removeDirectory } from '../fixtures/service-process.ts';
import { onlyLong } from '../scope.ts';

const ARN = 'arn:aws:kms:sa-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab';

interface KmsCall {
  readonly target: string;
  readonly authorization: string;
  readonly input: Record<string, string> & { readonly EncryptionContext?: Record<string, string> };
}

/** A local service with the protocol of KMS (JSON 1.1): it encrypts with a key of its own, bound to the context. */
class LocalKms {
  readonly calls: KmsCall[] = [];
  readonly #key = randomBytes(32);
  readonly #server: Server;
  isDenying = false;

  constructor() {
    this.#server = createServer(async (request, response) => {
      const input = JSON.parse((await readBody(request)).toString('utf8'));
      const target = String(request.headers['x-amz-target']);
      this.calls.push({ target, authorization: String(request.headers.authorization), input });
      const [status, body] = this.#respond(target, input);
      response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' }).end(JSON.stringify(body));
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #respond(target: string, input: KmsCall['input']): [number, object] {
    if (this.isDenying) return [400, { __type: 'AccessDeniedException', message: 'not authorized: secret words' }];
    if (input['KeyId'] !== ARN) return [400, { __type: 'NotFoundException', message: 'no key' }];
    const context = createHash('sha256')
      .update(JSON.stringify(Object.entries(input.EncryptionContext ?? {}).sort()))
      .digest();
    if (target === 'TrentService.Encrypt') {
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', this.#key, nonce).setAAD(context);
      const sealed = Buffer.concat([cipher.update(input['Plaintext'] ?? '', 'base64'), cipher.final()]);
      const blob = Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64');
      return [200, { CiphertextBlob: blob, KeyId: ARN, EncryptionAlgorithm: 'SYMMETRIC_DEFAULT' }];
    }
    try {
      const blob = Buffer.from(input['CiphertextBlob'] ?? '', 'base64');
      const decipher = createDecipheriv('aes-256-gcm', this.#key, blob.subarray(0, 12)).setAAD(context);
      decipher.setAuthTag(blob.subarray(12, 28));
      const opened = Buffer.concat([decipher.update(blob.subarray(28)), decipher.final()]);
      return [200, { Plaintext: opened.toString('base64'), KeyId: ARN, EncryptionAlgorithm: 'SYMMETRIC_DEFAULT' }];
    } catch {
      return [400, { __type: 'InvalidCiphertextException' }];
    }
  }
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

describe('custody in AWS KMS, with the official client', { skip: onlyLong, timeout: 300_000 }, () => {
  let directory: string;
  let libraries: string | undefined;
  let missing: string | undefined;
  let database: Record<string, string>;
  const kms = new LocalKms();
  let settings: Record<string, string>;

  before(async () => {
    directory = newDirectory();
    database = await databaseSettings(directory);
    const installed = installLibrary('@aws-sdk/client-kms');
    if ('reason' in installed) missing = installed.reason;
    else libraries = installed.folder;
    Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'example' });
    settings = {
      CARDVAULT_DATA_DIR: directory,
      CARDVAULT_LIBRARIES: libraries ?? directory,
      CARDVAULT_AWS_KMS_ENDPOINT: await kms.listen(),
      ...database,
    };
  });
  after(async () => {
    kms.close();
    removeDirectory(directory);
    if (libraries !== undefined) rmSync(libraries, { recursive: true, force: true });
    await dropDatabase(directory);
  });

  test('opens a vault whose root key was moved there', async (t) => {
    if (missing !== undefined) return t.skip(missing);
    const must = async (more: Record<string, string>, ...args: string[]) => {
      const result = await runWithSettings({ ...settings, ...more }, ...args);
      assert.equal(result.code, 0, result.err);
      return result;
    };
    await must({}, 'migrate');
    const root = readFileSync(join(directory, 'root.key'), 'utf8').trim();
    const to = ['--to', `awskms:${ARN}`, '--file', 'root.sealed'];
    const moved = await must({}, 'keyring', 'custody', 'move', ...to, '--json');
    assert.equal(moved.json.key_check_value, keyCheckValue(createSecretKey(root, 'hex')));
    assert.deepEqual(
      kms.calls.map(({ target }) => target),
      ['TrentService.Encrypt', 'TrentService.Decrypt'],
    );
    for (const { authorization, input } of kms.calls) {
      assert.match(authorization, /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/[0-9]{8}\/sa-east-1\/kms\/aws4_request/);
      const value = moved.json.key_check_value;
      assert.deepEqual(input.EncryptionContext, { cardvault: 'root-key', kind: 'awskms', key_check_value: value });
    }
    const custody = { CARDVAULT_ROOT_KEY: `awskms:${ARN}` };
    await must(custody, 'account', 'list');
    const file = join(directory, 'root.sealed');
    const text = readFileSync(file, 'utf8');
    assert.ok(!text.includes(root));
    writeFileSync(file, text.replace(moved.json.key_check_value, '00000000'), { mode: 0o600 });
    const changed = await runWithSettings({ ...settings, ...custody }, 'account', 'list');
    assert.match(changed.err, /InvalidCiphertextException/);
    writeFileSync(file, text, { mode: 0o600 });
    kms.isDenying = true;
    const denied = await runWithSettings({ ...settings, ...custody }, 'account', 'list');
    assert.match(denied.err, /AccessDeniedException/);
    assert.ok(!denied.err.includes('secret words'));
    kms.isDenying = false;
  });

  test('says which command installs the client where it is missing', async () => {
    const variables = { ...settings, CARDVAULT_LIBRARIES: directory, CARDVAULT_ROOT_KEY: `awskms:${ARN}` };
    const custody = openCustody(parseConfig({ ...variables, CARDVAULT_ROOT_KEY_FILE: 'new.sealed' }).rootKey);
    await assert.rejects(custody.create(), /npm install --no-save @aws-sdk\/client-kms/);
  });
});
