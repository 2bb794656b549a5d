import assert from 'node:assert/strict';
import { createHmac, createSecretKey, randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { BlindIndex } from './blind-index.ts';

const bytes = randomBytes(32);
const newIndex = (): BlindIndex => new BlindIndex({ version: 7, key: createSecretKey(bytes), createdAt: 0 });
const hmac = (text: string): Buffer => createHmac('sha256', bytes).update(text, 'utf8').digest();
const hex = (value: Uint8Array): string => Buffer.from(value).toString('hex');

describe('the blind index of a card', () => {
  const pan = '4111119876540042';
  const print = new Uint8Array([0xab, 0xcd, 0xef]);

  it('is last four, first six and the start of the fingerprint', () => {
    const index = newIndex();
    const expected = `07${hex(hmac('last-four:0042').subarray(0, 3))}${hex(hmac('bin:411111').subarray(0, 3))}abcd`;
    for (let time = 0; time < 2; time++) assert.equal(hex(index.search(pan, print)), expected);
  });

  it('is the same whichever digests were computed before', () => {
    const index = newIndex();
    // More BINs than are cached.
    for (let number = 0; number < 1000; number++) {
      const [bin, lastFour] = [String(899 * number).padStart(6, '0'), String(number).padStart(4, '0')];
      const expected = `07${hex(hmac(`last-four:${lastFour}`).subarray(0, 3))}${hex(hmac(`bin:${bin}`).subarray(0, 3))}abcd`;
      for (let time = 0; time < 2; time++) assert.equal(hex(index.search(`${bin}000000${lastFour}`, print)), expected);
    }
    for (let lastFour = 0; lastFour < 10_000; lastFour++) {
      const digits = String(lastFour).padStart(4, '0');
      const first = hex(index.lastFourBounds(digits)[0]);
      assert.equal(first, `07${hex(hmac(`last-four:${digits}`).subarray(0, 3))}0000000000`);
      assert.equal(hex(index.lastFourBounds(digits)[0]), first);
    }
  });

  it('is between the bounds of its last four', () => {
    const [from, to] = newIndex().lastFourBounds('0042');
    for (const end of [0x00, 0xff]) {
      const search = newIndex().search(pan, new Uint8Array([end, end]));
      assert.ok(Buffer.compare(from, search) <= 0 && Buffer.compare(search, to) <= 0);
    }
    const other = newIndex().search('4111119876540043', print);
    assert.ok(Buffer.compare(other, from) < 0 || Buffer.compare(other, to) > 0);
  });

  it('contains the first six', () => {
    const search = newIndex().search(pan, print);
    assert.equal(newIndex().binTest('411111')(search), true);
    assert.equal(newIndex().binTest('411112')(search), false);
    for (const altered of [
      undefined,
      new Uint8Array(0),
      search.subarray(0, 8),
      new Uint8Array([8, ...search.subarray(1)]),
    ])
      assert.equal(newIndex().binTest('411111')(altered), false);
  });
});

describe('the blind index of tags', () => {
  it('is the same whichever digests were computed before', () => {
    const index = newIndex();
    // More tags than are cached, each twice in a row and again later.
    const texts = Array.from({ length: 1200 }, (_, number) => `tag ${number}`);
    for (const text of [...texts.flatMap((each) => [each, each]), ...texts])
      assert.equal(hex(index.tag(text)), `07${hex(hmac(`tag:${text}`).subarray(0, 8))}`);
  });

  it('has eight bytes behind the version, and differs from the digest of digits', () => {
    const index = newIndex();
    assert.equal(hex(index.tag('411111')), `07${hex(hmac('tag:411111').subarray(0, 8))}`);
    assert.equal(index.tag('web').buffer.byteLength, 9);
  });

  it('has each digest once, also for texts that are equal only in UTF-8', () => {
    const tags = newIndex().tags(['web', 'web', '\ud800', '\ud801', 'Web']);
    assert.deepEqual(
      tags.map(hex),
      ['web', '\ufffd', 'Web'].map((text) => `07${hex(hmac(`tag:${text}`).subarray(0, 8))}`),
    );
  });
});
