import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Transaction } from '../idempotency/transaction.ts';
import { Failure } from '../kernel/failure.ts';
import { parsePan } from '../kernel/pan.ts';
import type { Placeholder } from '../placeholders/grammar.ts';
import type { LocatedPlaceholder, Substitution } from '../placeholders/located-placeholder.ts';
import type { CardDataContext, Placeholders } from '../placeholders/placeholders.ts';
import { type CardField, type CardSource, parseCardPlaceholder, resolveCard } from './card-source.ts';

const PATHS = {
  number: 'card.number',
  expiry: 'card.expiration_date',
  securityCode: 'card.security_code',
  holder: 'card.holder',
} as const;
const NAMES = Object.keys(PATHS) as (keyof CardSource)[];

async function refusal(act: () => unknown): Promise<Failure> {
  try {
    await act();
  } catch (error) {
    assert.ok(error instanceof Failure, String(error));
    return error;
  }
  return assert.fail('was accepted');
}

describe('a placeholder in a card field', () => {
  it('is exactly one, with optional blanks around it', () => {
    for (const text of ['{{cap-1:transaction}}', ' \t\r\n{{ cap-1 : transaction }}\n ']) {
      for (const name of NAMES) {
        const placeholder = parseCardPlaceholder(text, name);
        assert.deepEqual([placeholder?.token, placeholder?.source], ['cap-1', 'transaction']);
      }
    }
    assert.equal(parseCardPlaceholder('{{tok-1:detokenize}}', 'number')?.source, 'detokenize');
  });

  it('is absent where the text has no {{', () => {
    for (const text of ['', '4111111111111111', '{ {tok:detokenize} }', 'tok:detokenize}}'])
      for (const name of NAMES) assert.equal(parseCardPlaceholder(text, name), undefined);
  });

  it('is rejected with other text around it, and the error names the field, not the text', async () => {
    for (const name of NAMES) {
      for (const text of [
        'x{{s3cr3t:transaction}}',
        '{{s3cr3t:transaction}}x',
        '{{s3cr3t:transaction}}{{s3cr3t:transaction}}',
        '{{s3cr3t:transaction}} {{other:transaction}}',
        '\u00a0{{s3cr3t:transaction}}',
      ]) {
        const { code, field, message } = await refusal(() => parseCardPlaceholder(text, name));
        assert.deepEqual([code, field], ['invalid_placeholder', PATHS[name]]);
        assert.match(message, /expected exactly one placeholder and nothing beside it$/);
        assert.ok(!message.includes('s3cr3t'));
      }
    }
  });

  it('that is malformed or has filters is rejected', async () => {
    for (const text of ['{{', '{{}}', '{{s3cr3t}}', '{{s3cr3t:transaction', '{{s3cr3t:other}}']) {
      const { code, field, message } = await refusal(() => parseCardPlaceholder(text, 'number'));
      assert.deepEqual([code, field, message.includes('s3cr3t')], ['invalid_placeholder', 'card.number', false]);
    }
    for (const text of ['{{tok:transaction|extract:card}}', '{{tok:transaction | extract:expiration | date:MM}}'])
      assert.match((await refusal(() => parseCardPlaceholder(text, 'expiry'))).message, /takes no filters/);
  });

  it('of a permanent token is rejected for the security code', async () => {
    const { message } = await refusal(() => parseCardPlaceholder('{{tok:detokenize}}', 'securityCode'));
    assert.match(message, /^card\.security_code: a permanent token has no security code/);
  });
});

/** Only handed on. */
const TRANSACTION = {} as Transaction;
const READER: CardDataContext = {
  tenant: { account: 'acc', environment: 'sandbox' },
  permissions: [],
  usage: 'payment',
};
const pan = parsePan('4111111111111111') ?? assert.fail('a card number');
const literal: CardSource = {
  number: { literal: pan },
  expiry: { literal: { month: '12', year: '29' } },
  securityCode: { literal: '123' },
  holder: { literal: 'Ana Lopez' },
};

/** Resolves each part to its value, and records the requests. */
function holding(values: Readonly<Record<string, string>>): {
  placeholders: Placeholders;
  requests: (readonly [CardDataContext, readonly LocatedPlaceholder[]])[];
} {
  const requests: (readonly [CardDataContext, readonly LocatedPlaceholder[]])[] = [];
  const fake: Pick<Placeholders, 'resolve'> = {
    resolve: async (transaction, reader, marks): Promise<Substitution[]> => {
      assert.equal(transaction, TRANSACTION);
      requests.push([reader, marks]);
      return marks.map((mark) => ({ located: mark, value: values[mark.placeholder.part] ?? '' })).reverse();
    },
  };
  return { placeholders: fake as unknown as Placeholders, requests };
}

const of = (text: string, name: keyof CardSource): { readonly placeholder: Placeholder } => {
  const placeholder = parseCardPlaceholder(text, name);
  return { placeholder: placeholder ?? assert.fail('a placeholder') };
};
const allOf = (text: string): CardSource =>
  Object.fromEntries(NAMES.map((name) => [name, of(text, name)])) as unknown as CardSource;
const HELD = { card: '4111111111111111', expiration: '12/29', cvv: '123', name: 'Ana Lopez' };

describe('resolving a card', () => {
  it('given as values reads no record', async () => {
    const { placeholders, requests } = holding({});
    const read = await resolveCard(TRANSACTION, placeholders, READER, literal);
    assert.deepEqual(read, {
      card: { pan, expiry: { month: '12', year: '29' }, securityCode: '123', holder: 'Ana Lopez' },
      isInClear: true,
      captureIds: [],
    });
    assert.deepEqual(requests, []);
  });

  it('given by a capture reads it once for all parts, and names the capture once', async () => {
    const { placeholders, requests } = holding(HELD);
    const read = await resolveCard(TRANSACTION, placeholders, READER, allOf('{{cap-1:transaction}}'));
    assert.deepEqual(read, {
      card: { pan, expiry: { month: '12', year: '29' }, securityCode: '123', holder: 'Ana Lopez' },
      isInClear: false,
      captureIds: ['cap-1'],
    });
    assert.equal(requests.length, 1);
    const [[reader, marks] = assert.fail('no record was read')] = requests;
    assert.equal(reader, READER);
    const seen = marks.map(({ location, number, placeholder }) => [
      location(),
      number,
      placeholder.part,
      placeholder.token,
    ]);
    assert.deepEqual(seen, [
      ['card.number', 1, 'card', 'cap-1'],
      ['card.expiration_date', 2, 'expiration', 'cap-1'],
      ['card.security_code', 3, 'cvv', 'cap-1'],
      ['card.holder', 4, 'name', 'cap-1'],
    ]);
    assert.deepEqual(
      marks.map(({ encode: write }) => write('a"b')),
      ['a"b', 'a"b', 'a"b', 'a"b'],
    );
  });

  it('may mix values, tokens and captures', async () => {
    const { placeholders, requests } = holding({ ...HELD, expiration: '01/30' });
    const source = {
      ...literal,
      number: of('{{tok-1:detokenize}}', 'number') as CardField<typeof pan>,
      securityCode: of('{{cap-2:transaction}}', 'securityCode'),
      holder: undefined,
    };
    const read = await resolveCard(TRANSACTION, placeholders, READER, source);
    assert.deepEqual(read.card, { pan, expiry: { month: '12', year: '29' }, securityCode: '123', holder: undefined });
    assert.deepEqual([read.isInClear, read.captureIds], [false, ['cap-2']]);
    assert.deepEqual(
      requests[0]?.[1].map(({ number, location }) => [number, location()]),
      [
        [1, 'card.number'],
        [2, 'card.security_code'],
      ],
    );
    const expiry = of('{{cap-3:transaction}}', 'expiry');
    const other = await resolveCard(TRANSACTION, placeholders, READER, { ...literal, expiry });
    assert.deepEqual(
      [other.card.expiry, other.isInClear, other.captureIds],
      [{ month: '01', year: '30' }, true, ['cap-3']],
    );
  });

  it('rejects a number that fails the Luhn check or has another format, from every source', async () => {
    const bad = parsePan('4111111111111112') ?? assert.fail('digits');
    const { placeholders } = holding({});
    const isRefused = ({ code, field, message }: Failure): void => {
      assert.deepEqual([code, field], ['invalid_field', 'card.number']);
      assert.match(message, /expected a card number that passes the Luhn check$/);
    };
    isRefused(
      await refusal(() => resolveCard(TRANSACTION, placeholders, READER, { ...literal, number: { literal: bad } })),
    );
    for (const card of ['4111111111111112', '', 'x']) {
      const held = holding({ ...HELD, card });
      isRefused(
        await refusal(() => resolveCard(TRANSACTION, held.placeholders, READER, allOf('{{cap-1:transaction}}'))),
      );
    }
  });

  it('rejects an expiry in another format', async () => {
    const { placeholders } = holding({ ...HELD, expiration: '' });
    const { field, message } = await refusal(() =>
      resolveCard(TRANSACTION, placeholders, READER, allOf('{{cap-1:transaction}}')),
    );
    assert.equal(field, 'card.expiration_date');
    assert.match(message, /expected MM\/YYYY or MM\/YY$/);
  });
});
