import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Identity, newIdentity, publicOf } from './certificates.ts';
import { type Form, startSender } from './sender.ts';
import { ENVELOPE, FORMS, USER, VECTORS } from './vectors.ts';

/**
 * Creates test/vectors/wssec again: envelopes sealed by WSS4J, for keys that exist for tests only. Existing keys are
 * kept. Run it as `node test/receivers/make-vectors.ts`.
 */
const MARK = 'For tests only: this key is published and protects nothing.\n';

/** Early enough that no machine's clock is behind it. */
const SINCE = new Date('2020-01-01T00:00:00Z');

async function identity(name: 'merchant' | 'processor'): Promise<Identity> {
  const path = (part: string): string => join(VECTORS, `${name}-${part}.pem`);
  if (!existsSync(path('key'))) {
    const created = await newIdentity(`${name}, for tests only`, SINCE);
    writeFileSync(path('key'), MARK + created.privateKey);
    writeFileSync(path('certificate'), MARK + created.certificate);
  }
  const [privateKey, certificate] = ['key', 'certificate'].map((part) => readFileSync(path(part), 'utf8')) as [
    string,
    string,
  ];
  return { privateKey, certificate, publicKey: publicOf(certificate) };
}

const merchant = await identity('merchant');
const processor = await identity('processor');
const sender = await startSender(merchant, processor.certificate, USER);
for (const [name, form] of Object.entries<Form>(FORMS)) {
  writeFileSync(join(VECTORS, `${name}.xml`), await sender.seal(ENVELOPE, form));
}
