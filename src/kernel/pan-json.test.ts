import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseJson } from './json.ts';
import { truncatePansInJson } from './pan-json.ts';

const PAN = '4111111111111111';
const masked = (text: string): string => JSON.stringify(truncatePansInJson(parseJson(text)));

describe('truncatePansInJson', () => {
  it('searches strings, numbers and keys at every depth', () => {
    assert.equal(
      masked(`{"note":"paid with 4111 1111 1111 1111","list":[{"card":${PAN}}],"${PAN}":{"x":["${PAN}"]}}`),
      '{"note":"paid with 411111******1111","list":[{"card":"411111******1111"}],"411111******1111":{"x":["411111******1111"]}}',
    );
  });

  it('finds a card number in a number however it is written', () => {
    const spellings = {
      [PAN]: '411111******1111',
      [`-${PAN}`]: '-411111******1111',
      [`${PAN}.0`]: '411111******1111',
      [`${PAN}.50`]: '411111******1111.50',
      '4.111111111111111e15': '411111******1111',
      '4.111111111111111E+15': '411111******1111',
      '41111111.11111111e8': '411111******1111',
      '411111111111111.1e+0001': '411111******1111',
      [`${PAN}e0`]: '411111******1111',
      [`0.${PAN}`]: '0.411111******1111',
      [`${PAN}e-4`]: '411111******1111e-4',
      // The number exceeds what a JavaScript number holds.
      '6304000000000000000': '630400*********0000',
      '6.304e18': '630400*********0000',
    };
    for (const [written, expected] of Object.entries(spellings))
      assert.equal(masked(written), `"${expected}"`, written);
  });

  it('leaves every other value as it was written', () => {
    const text =
      '{"amount":12500,"price":10.50,"big":12345678901234567890123,"tiny":1e-7,"huge":1e400,"no":4111111111111112,"yes":true,"none":null,"__proto__":{"a":[]}}';
    assert.equal(masked(text), text);
  });

  it('changes nothing where there are few digits', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const text = JSON.stringify(JSON.parse(JSON.stringify(value).replace(/[0-9]/g, '1')));
        fc.pre(!/1(?:[\s-]*1){11}/.test(text));
        assert.equal(masked(text), JSON.stringify(JSON.parse(text)));
      }),
    );
  });

  it('truncates a card number wherever a document contains it', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), fc.constantFrom('value', 'key', 'number'), (value, kind) => {
        const held = kind === 'key' ? { [PAN]: value } : [value, kind === 'number' ? Number(PAN) : ` ${PAN}.`];
        const result = masked(JSON.stringify(held));
        assert.ok(!result.includes(PAN));
        assert.ok(result.includes('411111******1111'));
      }),
    );
  });
});
