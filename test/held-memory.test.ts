import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { keepSettings, type UnsealedSettings } from '../src/capture-sessions/session-store.ts';
import type { OpenCore } from '../src/core.ts';
import { clientAddress } from '../src/http/send.ts';
import { Cache } from '../src/storage/cache.ts';
import { BlindIndex } from '../src/vault/blind-index.ts';
import { heldBytes, partOf, TEXT_CHARACTERS } from './fixtures/held-bytes.ts';
import { newRotatingVault, type RotatingVault } from './fixtures/rotation.ts';
import { RuledTenant } from './fixtures/ruled-tenant.ts';
import { luhnPan } from './fixtures/test-service.ts';

/** A part of a text keeps the whole text in memory, as V8 builds it: what outlives a request must not keep its body, with its card numbers. */
const PARTS = 40;
/** The entries of the caches take less. */
const MOST_BYTES = (PARTS * TEXT_CHARACTERS) / 10;

describe('what outlives a request keeps no body of it in memory:', () => {
  const numbered = (start: string): string[] =>
    Array.from({ length: PARTS }, (_, index) => `${start}${String(index).padStart(20, '0')}`);

  test('a part of a text keeps all of it, so that these tests can fail', async () => {
    const kept: string[] = [];
    const held = await heldBytes(() => {
      for (const each of numbered('kept-')) kept.push(partOf(each));
    });
    assert.ok(held > PARTS * TEXT_CHARACTERS * 0.9, `${held}`);
    assert.equal(kept[0], numbered('kept-')[0]);
  });

  test('digests of tags', async () => {
    const index = new BlindIndex({ version: 7, key: createSecretKey(randomBytes(32)), createdAt: 0 });
    const held = await heldBytes(() => {
      for (const each of numbered('tag-')) index.tag(partOf(each));
    });
    assert.ok(held < MOST_BYTES, `${held}`);
    assert.deepEqual(index.tag('lone \ud800 surrogate'), index.tag('lone \ud800 surrogate'));
  });

  test('addresses of clients', async () => {
    const held = await heldBytes(() => {
      for (let index = 0; index < PARTS; index++) {
        const ip = partOf(`2001:db8:${index + 1}:0:1:2:3:4`);
        assert.match(clientAddress({ ip } as Parameters<typeof clientAddress>[0]), /^2001:db8:/);
      }
    });
    assert.ok(held < MOST_BYTES, `${held}`);
  });

  test('settings of sessions of the card form', async () => {
    const recent = new Cache<string, UnsealedSettings>({ clock: () => 0, max: PARTS, ttlMs: 1000 });
    const held = await heldBytes(() => {
      for (const id of numbered('cs_')) {
        const settings = { returnUrl: partOf(`https://shop.example.com/${id}`) };
        keepSettings(recent, { created: { id, record: new Uint8Array(1) }, settings } as unknown as UnsealedSettings);
      }
    });
    assert.ok(held < MOST_BYTES, `${held}`);
    const [first = ''] = numbered('cs_');
    assert.deepEqual(recent.peek(first)?.settings, { returnUrl: `https://shop.example.com/${first}` });
  });

  describe('uses of tokens', () => {
    let vault: RotatingVault;
    let core: OpenCore;
    before(async () => {
      vault = await newRotatingVault('sqlite');
      core = await vault.open();
    });
    after(() => vault.end());

    test('before and after they are written', async () => {
      const merchant = await RuledTenant.create(core, 30);
      const token = await merchant.tokenize(luhnPan('411111'), 'Ana Lopez');
      const { tokenUses } = core;
      await merchant.use(token);
      for (const isWritten of [false, true]) {
        const held = await heldBytes(async () => {
          for (const each of numbered(`use-${isWritten}-`)) tokenUses.note(merchant.tenant, [partOf(each)]);
          if (isWritten) await tokenUses.flush();
        });
        assert.ok(held < MOST_BYTES, `${isWritten} ${held}`);
      }
    });
  });
});
