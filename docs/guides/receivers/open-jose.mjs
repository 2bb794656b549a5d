// node open-jose.mjs RESPONSE PROCESSOR_PRIVATE_KEY MERCHANT_PUBLIC_KEY
// Opens a response of POST /proxy/jose and prints the payload. Needs the package jose.
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { compactDecrypt, compactVerify } from 'jose';

// The algorithms agreed with the merchant. No other is accepted, whatever a message names.
const SIGNED = { algorithms: ['RS256'] };
const ENCRYPTED = { keyManagementAlgorithms: ['RSA-OAEP-256'], contentEncryptionAlgorithms: ['A256GCM'] };

const [response, privateKey, publicKey] = process.argv.slice(2).map((file) => readFileSync(file, 'utf8'));
const { value, encryption } = JSON.parse(response).data;
const processor = createPrivateKey(privateKey);
const merchant = createPublicKey(publicKey);

// 1. Verify the merchant's signature. It is over the ciphertext: nothing is decrypted before it was verified.
const outer = await compactVerify(encryption, merchant, SIGNED);
if (Buffer.from(outer.payload).toString() !== value) throw new Error('the signature is over another value');

// 2. Decrypt.
const { plaintext } = await compactDecrypt(value, processor, ENCRYPTED);

// 3. Verify the signature over the payload itself. With jose.payload=plain there is none: the plaintext is the payload.
const { payload } = await compactVerify(plaintext, merchant, SIGNED);
process.stdout.write(payload);
