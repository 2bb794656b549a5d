import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Refused } from './lines.ts';
import { openKey } from './node-decryption.ts';
import { SOAP, WSSE, WSU, XENC } from './ws-names.ts';
import { only, parseXml, serialize } from './xml-tree.ts';

const run = promisify(execFile);
const SIGNED = [`${WSU}:Timestamp`, `${SOAP}:Body`, `${WSSE}:BinarySecurityToken`, `${WSSE}:UsernameToken`];

/** Verifies the signature of an envelope that was encrypted first. Rejects with a Refused when it does not hold. */
export async function verifyWithXmlsec1(envelope: string, certificate: string): Promise<void> {
  const ids = SIGNED.flatMap((name) => ['--id-attr:Id', name]);
  await xmlsec1(envelope, certificate, async (key) => [
    '--verify',
    ...(await anyKey()),
    ...ids,
    '--pubkey-cert-pem',
    key,
  ]);
}

/**
 * Decrypts the Body of an envelope that was encrypted first, and returns its content. xmlsec1 does not look for an
 * EncryptedKey that stands elsewhere in the document: the session key is opened for it.
 */
export async function decryptWithXmlsec1(envelope: string, processorKey: string): Promise<string> {
  const security = only(only(parseXml(envelope), SOAP, 'Header'), WSSE, 'Security');
  const session = openKey(only(security, XENC, 'EncryptedKey'), processorKey);
  const opened = await xmlsec1(envelope, session, async (key) => ['--decrypt', ...(await anyKey()), '--aeskey', key]);
  return only(parseXml(opened), SOAP, 'Body').children.map(serialize).join('');
}

/** Since 1.3 a key must be named in a way that xmlsec1 itself understands, which a SecurityTokenReference is not. */
function anyKey(): Promise<string[]> {
  lookup ??= readLookup();
  return lookup;
}

let lookup: Promise<string[]> | undefined;

async function readLookup(): Promise<string[]> {
  const { stdout } = await run('xmlsec1', ['--version']);
  const [, major = 0, minor = 0] = /(\d+)\.(\d+)/.exec(stdout)?.map(Number) ?? [];
  return major > 1 || minor >= 3 ? ['--lax-key-search'] : [];
}

async function xmlsec1(
  envelope: string,
  key: string | Buffer,
  argumentsFor: (key: string) => Promise<string[]>,
): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
  try {
    const [keyFile, envelopeFile] = [join(directory, 'key'), join(directory, 'envelope.xml')];
    writeFileSync(keyFile, key, { mode: 0o600 });
    writeFileSync(envelopeFile, envelope);
    const { stdout } = await run('xmlsec1', [...(await argumentsFor(keyFile)), envelopeFile]);
    return stdout;
  } catch (error) {
    throw new Refused(error instanceof Error ? error.message : String(error));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
