import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import fc from 'fast-check';
import { systemRandom } from '../../src/crypto/random.ts';
import { type JoseMessage, secureWithJose } from '../../src/proxy/jose.ts';
import { type ConfiguredSettings, effectiveSettings } from '../../src/proxy/settings.ts';
import {
  absentReceiver,
  JOSE_RECEIVERS,
  type OpenedJose,
  type Receiver,
  startReceiver,
  type JoseMessage as Wire,
} from '../receivers/receivers.ts';
import { inScope } from '../scope.ts';
import { jsonPayload } from './documents.ts';
import { pairwise } from './pairwise.ts';
import { merchant, parties, processor } from './parties.ts';

/** In the long scope each combination of settings meets one at least. */
const PAYLOADS = Number(process.env['CARDVAULT_TEST_RUNS'] ?? inScope({ usual: 12, long: 100 }));
const seed = Math.floor(Math.random() * 2 ** 31);

const random = systemRandom();

const secure = (payload: string, settings: ConfiguredSettings): Promise<JoseMessage> =>
  secureWithJose(Buffer.from(payload, 'utf8'), { parties, settings: effectiveSettings(settings), random });

const ALL: ConfiguredSettings[] = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'].flatMap((signature) =>
  ['RSA-OAEP-256', 'RSA-OAEP'].flatMap((management) =>
    ['A256GCM', 'A128GCM', 'A256CBC-HS512', 'A128CBC-HS256'].flatMap((content) =>
      ['nested', 'plain'].map((payload) => ({
        'jose.signature': signature,
        'jose.key-management': management,
        'jose.content': content,
        'jose.payload': payload,
      })),
    ),
  ),
);

const COMBINATIONS = inScope({ usual: pairwise(ALL), long: ALL });

const wire = ({ value, signature }: JoseMessage, settings: ConfiguredSettings): Wire => ({
  value,
  encryption: signature,
  plain: settings['jose.payload'] === 'plain',
});

for (const kind of JOSE_RECEIVERS) {
  describe(`JOSE, decrypted by ${kind}`, { skip: absentReceiver(kind) || undefined }, () => {
    let receiver: Receiver<Wire, OpenedJose>;
    before(async () => {
      receiver = await startReceiver(kind, { processorKey: processor.privateKey, merchant: merchant.certificate });
    });

    for (const settings of COMBINATIONS) {
      test(Object.values(settings).join(', '), async () => {
        const payload = '{"cardNumber":"4111111111111111","amount":0.00,"name":"Ñ \\"X\\" <&> 😀"}';
        const opened = await receiver.open(wire(await secure(payload, settings), settings));
        assert.equal(opened.payload, payload);
        const { alg, enc, kid } = JSON.parse(opened.header);
        assert.deepEqual([alg, enc], [settings['jose.key-management'], settings['jose.content']]);
        assert.equal(kid, parties.processor.kid);
        const { alg: signature, kid: signer } = JSON.parse(opened.encryptionHeader);
        assert.deepEqual([signature, signer], [settings['jose.signature'], parties.merchant.kid]);
      });
    }

    test(`${PAYLOADS} payloads are returned byte for byte`, async () => {
      const payloads = fc.sample(jsonPayload, { numRuns: PAYLOADS, seed });
      await Promise.all(
        payloads.map(async (payload, index) => {
          const settings = COMBINATIONS[index % COMBINATIONS.length] ?? {};
          const opened = await receiver.open(wire(await secure(payload, settings), settings));
          assert.equal(opened.payload, payload, `seed ${seed}, payload ${index}`);
        }),
      );
    });

    test('a value with another signature is rejected', async () => {
      const [one, other] = [await secure('{"a":1}', {}), await secure('{"a":2}', {})];
      await assert.rejects(receiver.open({ value: one.value, encryption: other.signature }));
    });
  });
}
