import assert from 'node:assert/strict';
import { userInfo } from 'node:os';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { describeAddress, parseAddress } from './address.ts';

const HERE = { host: '127.0.0.1', port: 5432 };

describe('the address of a PostgreSQL database', () => {
  test('all of its parts are parsed', () => {
    const text =
      'postgresql://us%3Aer:p%40ss%2Fw%3A%25@one.example:6000,[2001:db8::1],three:7/da%20ta?sslmode=verify-ca&sslrootcert=/ca.pem&sslcert=/c.pem&sslkey=/k.pem';
    const address = parseAddress(text);
    assert.deepEqual(address, {
      hosts: [
        { host: 'one.example', port: 6000 },
        { host: '2001:db8::1', port: 5432 },
        { host: 'three', port: 7 },
      ],
      database: 'da ta',
      user: 'us:er',
      password: 'p@ss/w:%',
      sslMode: 'verify-ca',
      sslRootCert: '/ca.pem',
      sslCert: '/c.pem',
      sslKey: '/k.pem',
    });
    assert.equal(describeAddress(address), 'postgres://one.example:6000,[2001:db8::1]:5432,three:7/da ta');
  });

  test('the shortest address has defaults', () => {
    const { hosts, user, password, sslMode } = parseAddress('postgres://u@127.0.0.1/d');
    assert.deepEqual(
      { hosts, user, password, sslMode },
      { hosts: [HERE], user: 'u', password: undefined, sslMode: 'disable' },
    );
    assert.equal(parseAddress('postgres://u:@h/d').password, '');
    assert.equal(parseAddress('postgres://u:a:b@h/d').password, 'a:b');
  });

  test('the user defaults to that of the process, and the database to the name of the user', () => {
    const { username } = userInfo();
    for (const text of ['postgres://h', 'postgres://h/', 'postgres://@h/', 'postgres://:secret@h'])
      assert.deepEqual([parseAddress(text).user, parseAddress(text).database], [username, username], text);
    assert.equal(parseAddress('postgres://other@h').database, 'other');
    assert.equal(parseAddress('postgres://h/d').user, username);
  });

  test('a socket is a host with a path', () => {
    for (const [text, port] of [
      ['postgres://u@/d?host=/run/postgresql', 5432],
      ['postgres://u@:6000/d?host=/run/postgresql', 6000],
    ] as const) {
      const { hosts, sslMode } = parseAddress(text);
      assert.deepEqual({ hosts, sslMode }, { hosts: [{ host: '/run/postgresql', port }], sslMode: 'disable' });
    }
  });

  test('a connection to another machine is verified unless the address says otherwise', () => {
    for (const host of ['h', '10.0.0.1', '127.0.0.1,h', '127.example', '128.0.0.1', '[::2]', 'localhost.example'])
      assert.equal(parseAddress(`postgres://u@${host}/d`).sslMode, 'verify-full', host);
    for (const host of ['localhost', '127.9.9.9', '[::1]', '127.0.0.1,localhost'])
      assert.equal(parseAddress(`postgres://u@${host}/d`).sslMode, 'disable', host);
    for (const mode of ['disable', 'require', 'verify-ca', 'verify-full'])
      assert.equal(parseAddress(`postgres://u@h/d?sslmode=${mode}`).sslMode, mode);
  });

  const faults: readonly [string, RegExp][] = [
    ['mysql://u@h/d', /expected postgres:\/\/USER/],
    ['postgres://u@h/d#f', /expected postgres:\/\/USER/],
    ['postgres://u:a@b@h/d', /expected postgres:\/\/USER/],
    ['postgres://u@/d', /expected hosts/],
    ['postgres://u@h,/d', /expected hosts/],
    ['postgres://u@h:x/d', /expected hosts/],
    ['postgres://u@2001:db8::1/d', /expected hosts/],
    ['postgres://u@h:0/d', /expected a port/],
    ['postgres://u@h:65536/d', /expected a port/],
    ['postgres://u@h/d?sslmode=prefer', /expected sslmode/],
    ['postgres://u@h/d?sslmode=', /expected sslmode/],
    ['postgres://u@h/d?password=secret', /no other parameters/],
    ['postgres://u@h/d?sslcert=/c.pem', /both sslcert and sslkey/],
    ['postgres://u@h/d?sslkey=/k.pem', /both sslcert and sslkey/],
    ['postgres://u@/d?host=run', /folder of a socket/],
    ['postgres://u:%zz@h/d', /special characters as %XX/],
  ];
  for (const [text, message] of faults) {
    test(`${text} is rejected`, () => assert.throws(() => parseAddress(text), message));
  }

  test('any encoded user, password and database is decoded', () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1 });
    fc.assert(
      fc.property(text, fc.string({ unit: 'grapheme' }), text, (user, password, database) => {
        const [u, p, d] = [user, password, database].map(encodeURIComponent);
        const read = parseAddress(`postgres://${u}:${p}@h/${d}`);
        assert.deepEqual([read.user, read.password, read.database], [user, password, database]);
      }),
    );
  });

  test('no error contains the password, wherever the address is at fault', () => {
    const secret = fc.stringMatching(/^[a-zA-Z0-9@:/?#%[\]]{8,20}$/);
    const around = fc.constantFrom(
      'postgres://u:',
      'postgres:',
      'pg://u:',
      'postgres://',
      'postgres://u@h/d?password=',
      '',
    );
    const behind = fc.constantFrom(
      '@h/d',
      '@h:99999/d',
      '@/d',
      '@h',
      '@h/d?sslmode=no',
      '@h/d?x=1',
      '@[h/d',
      '%@h/d',
      '',
    );
    fc.assert(
      fc.property(around, secret, behind, (start, password, end) => {
        try {
          const address = parseAddress(`${start}${password}${end}`);
          if (start === 'postgres://u:' && end.startsWith('@h/d') && !/[@/?#]/.test(password))
            assert.ok(!describeAddress(address).includes(password));
        } catch (error) {
          assert.ok(!(error as Error).message.includes(password), (error as Error).message);
        }
      }),
    );
  });
});
