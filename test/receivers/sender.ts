import { type Identity, publicOf } from './certificates.ts';
import { startJava } from './java.ts';

/** A merchant who seals envelopes by WSS4J, not by our own code. */
export interface Form {
  readonly order: 'encrypt-then-sign' | 'sign-then-encrypt';
  readonly cipher: 'gcm' | 'cbc';
  /** `oaep-sha256` in the first order alone. */
  readonly transport: 'oaep' | 'rsa-1_5' | 'oaep-sha256';
  readonly digest: 'sha256' | 'sha512';
  /** True when the signature points at the BinarySecurityToken; otherwise it names the key. */
  readonly signer: 'token' | 'identifier';
  readonly user: '' | 'digest' | 'text';
}

export interface Sender {
  seal(envelope: string, form: Form): Promise<string>;
}

export async function startSender(
  merchant: Identity,
  processorCertificate: string,
  [name, password]: readonly [string, string],
): Promise<Sender> {
  const lines = await startJava({ tool: 'java-wss4j', classes: ['Wss4jSender', 'Wire', 'Xml'] });
  // Wire.java speaks from a receiver's side; here the keys have changed places.
  const { privateKey, certificate } = merchant;
  await lines.send([
    privateKey,
    certificate,
    processorCertificate,
    publicOf(processorCertificate),
    `${name}\t${password}`,
    '',
  ]);
  return {
    seal: async (envelope, { order, cipher, transport, digest, signer, user }) => {
      const [sealed = ''] = await lines.send([envelope, order, cipher, transport, digest, signer, user]);
      return sealed;
    },
  };
}
