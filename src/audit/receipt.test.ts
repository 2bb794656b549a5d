import assert from 'node:assert/strict';
import { createHash, createPublicKey, generateKeyPairSync, sign as signBytes, verify } from 'node:crypto';
import { describe, it } from 'node:test';
import { toKeyId } from '../crypto/signing-key.ts';
import {
  digestRecordId,
  formatReceipt,
  isReceiptOf,
  openReceipt,
  parseReceipt,
  type Receipt,
  type ReceiptStatement,
  signReceipt,
} from './receipt.ts';

const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const keys = new Map([[toKeyId(publicKey), publicKey]]);

const STATEMENT: ReceiptStatement = {
  vault: 'ab'.repeat(32),
  kind: 'token',
  account: 'acct_1',
  environment: 'production',
  record: digestRecordId('ab'.repeat(32), { account: 'acct_1', environment: 'production' }, 'token:4111116966141111'),
  removed: ['sealed card number, name and expiry'],
  deleted_at: '2027-01-01T00:00:00.000Z',
  expired_from: null,
  expired_to: null,
  audit: { account: 'acct_1', lane: 1, sequence: 7, hash: 'cd'.repeat(32) },
  backups_before: '2027-01-01T00:00:00.000Z',
  backups_end: null,
  backups_known: [],
  issued_at: '2027-01-02T00:00:00.000Z',
};

/** Signs as the vault does, by the rule of the documentation. */
const sign = async (use: string, payload: Uint8Array) => {
  const signed = Buffer.concat([Buffer.from(`cardvault ${use} v1\n`), payload]);
  return { keyId: toKeyId(publicKey), signature: signBytes(null, signed, privateKey) };
};
const issue = (): Promise<Receipt> => signReceipt({ sign }, STATEMENT);

describe('a receipt', () => {
  it('is read from its file and opened with the public key alone', async () => {
    const receipt = parseReceipt(formatReceipt(await issue()));
    assert.ok(receipt !== undefined);
    assert.deepEqual(openReceipt(keys, receipt), STATEMENT);
  });

  it('is verified with standard tools: the signature covers a line and the statement', async () => {
    const { statement, signature } = JSON.parse(formatReceipt(await issue()));
    const signed = Buffer.from(`cardvault deletion-receipt v1\n${statement}`);
    const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
    assert.ok(verify(null, signed, createPublicKey(pem), Buffer.from(signature, 'base64')));
  });

  it('is invalid when any character of its statement or signature was changed', async () => {
    const receipt = await issue();
    for (let at = 0; at < receipt.statement.length; at++) {
      const other = receipt.statement[at] === '0' ? '1' : '0';
      const statement = receipt.statement.slice(0, at) + other + receipt.statement.slice(at + 1);
      assert.equal(openReceipt(keys, { ...receipt, statement }), 'invalid');
    }
    for (let bit = 0; bit < 512; bit += 7) {
      const signature = Buffer.from(receipt.signature);
      signature[bit >> 3] = (signature[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      assert.equal(openReceipt(keys, { ...receipt, signature }), 'invalid');
    }
    for (const signature of [Buffer.alloc(0), Buffer.alloc(64), Buffer.concat([receipt.signature, Buffer.alloc(1)])])
      assert.equal(openReceipt(keys, { ...receipt, signature }), 'invalid');
  });

  it('is not opened with the key of another vault, nor as a statement of another use', async () => {
    const receipt = await issue();
    const other = generateKeyPairSync('ed25519').publicKey;
    assert.equal(openReceipt(new Map([[toKeyId(other), other]]), receipt), 'unknown-key');
    assert.equal(openReceipt(new Map([[receipt.keyId, other]]), receipt), 'invalid');
    const { signature } = await sign('audit-checkpoint', Buffer.from(receipt.statement));
    assert.equal(openReceipt(keys, { ...receipt, signature }), 'invalid');
  });

  it('is about one record of one account in one environment', () => {
    assert.ok(isReceiptOf(STATEMENT, 'token:4111116966141111'));
    for (const id of ['token:4111116966141112', 'capture:4111116966141111', '4111116966141111', ''])
      assert.equal(isReceiptOf(STATEMENT, id), false);
    assert.equal(isReceiptOf({ ...STATEMENT, account: 'acct_2' }, 'token:4111116966141111'), false);
    assert.equal(isReceiptOf({ ...STATEMENT, environment: 'sandbox' }, 'token:4111116966141111'), false);
    const text = `cardvault record\n${STATEMENT.vault}\nacct_1\nproduction\ntoken:4111116966141111`;
    assert.equal(STATEMENT.record, createHash('sha256').update(text).digest('hex'));
  });

  it('is not read from another text', async () => {
    const text = formatReceipt(await issue());
    for (const other of ['', '{}', 'null', '[]', text.slice(1), text.replace('receipt 1', 'receipt 2')])
      assert.equal(parseReceipt(other), undefined);
    for (const member of ['statement', 'key_id', 'signature'])
      assert.equal(parseReceipt(JSON.stringify({ ...JSON.parse(text), [member]: 1 })), undefined);
  });
});
