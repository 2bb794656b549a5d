import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type House, luhnPan, startHouse } from '../house.ts';

describe('POST /v1/tokenization/simple', () => {
  let house: House;
  let key: string;
  before(async () => {
    house = await startHouse();
    key = (await house.newKey(await house.newAccount())).secret;
  });
  after(() => house.stop());

  const card = (pan: unknown, more = {}) => ({ card: pan, name: 'Ana Lopez', exp: '12/29', ...more });
  const tokenize = (body: unknown, headers = {}) =>
    house.call('POST', '/v1/tokenization/simple', { key, body, headers });

  describe('200', () => {
    test('a token of scheme 1 keeps first six and last four and fails the Luhn check', async () => {
      const { status, json } = await tokenize({ chd: [card('4111111111111111')], tags: ['a'], scheme: 1 });
      assert.equal(status, 200);
      assert.equal(json.status_code, 200);
      const [token] = json.data.tokens;
      assert.match(token.token, /^411111[0-9]{6}1111$/);
      assert.equal(token.card, '411111******1111');
      assert.deepEqual(token.tags, ['a']);
    });

    test('200 concurrent persistent requests for one card give one token', async () => {
      const pan = luhnPan('455667');
      const answers = await Promise.all(
        Array.from({ length: 200 }, (_, index) =>
          tokenize({
            chd: [card(pan, { name: `Name ${index}` })],
            tags: [`t${index % 70}`],
            scheme: 1,
            type: 'persistent',
          }),
        ),
      );
      assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
      assert.equal(new Set(answers.map(({ json }) => json.data.tokens[0].token)).size, 1);
    });
  });
});
