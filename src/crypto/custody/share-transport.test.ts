import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { CustodyError } from '../custody.ts';
import { NodeKey, sealShare } from './share-transport.ts';

const given = () => ({ ceremony: 'ab'.repeat(8), index: 2, share: Uint8Array.from(randomBytes(33)) });

describe('a share on its way to a node', () => {
  test('is opened by that node alone, with its ceremony and index', () => {
    const node = new NodeKey();
    const share = given();
    const sealed = sealShare(node.text, share);
    assert.deepEqual(node.open(sealed), share.share);
    assert.ok(!Buffer.from(sealed.share, 'base64').includes(Buffer.from(share.share.subarray(0, 16))));
    assert.notEqual(sealShare(node.text, share).share, sealed.share, 'each has a key of its own');
    for (const [opener, changed] of [
      [new NodeKey(), sealed],
      [node, { ...sealed, index: 3 }],
      [node, { ...sealed, ceremony: 'cd'.repeat(8) }],
      [node, { ...sealed, share: sealed.share.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')) }],
      [node, { ...sealed, share: '' }],
      [node, { ...sealed, share: Buffer.alloc(81).toString('base64') }],
    ] as const)
      assert.throws(() => opener.open(changed), CustodyError);
  });

  test('is not encrypted for what is no key', () => {
    for (const key of [undefined, '', 'AAAA', Buffer.alloc(33).toString('base64')])
      assert.throws(() => sealShare(key, given()), /shows no key/);
  });
});
