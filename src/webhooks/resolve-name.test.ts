import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { after, before, describe, test } from 'node:test';
import { findInHosts, resolveName } from './resolve-name.ts';

/** Returns the response to a query: one address for the type, or none. */
function respond(query: Buffer, address: readonly number[] | undefined): Buffer {
  const header = Buffer.from([...query.subarray(0, 2), 0x81, 0x80, 0, 1, 0, address === undefined ? 0 : 1, 0, 0, 0, 0]);
  const end = query.indexOf(0, 12) + 5;
  const question = query.subarray(12, end);
  const type = query.subarray(end - 4, end - 2);
  const answer = address === undefined ? [] : [0xc0, 12, ...type, 0, 1, 0, 0, 0, 60, 0, address.length, ...address];
  return Buffer.concat([header, question, Buffer.from(answer)]);
}

describe('a name of an endpoint', () => {
  const server = createSocket('udp4');
  let servers: string[];
  before(async () => {
    server.on('message', (query, { address, port }) => {
      if (query.includes('dead')) return;
      const isIpv4 = query[query.indexOf(0, 12) + 2] === 1;
      server.send(respond(query, isIpv4 ? [192, 0, 2, 7] : undefined), port, address);
    });
    await new Promise<void>((resolve) => server.bind(0, '127.0.0.1', resolve));
    servers = [`127.0.0.1:${server.address().port}`];
  });
  after(() => server.close());

  test('with servers that never respond delays no other one, and ends with the signal', async () => {
    const controller = new AbortController();
    const sources = { hostsFile: '/nonexistent', servers };
    const dead = Array.from({ length: 50 }, (_, index) =>
      resolveName(`dead${index}.example`, controller.signal, sources),
    );
    const live = await resolveName('shop.example', controller.signal, sources);
    assert.deepEqual(live, [{ address: '192.0.2.7', family: 4 }]);
    controller.abort();
    assert.deepEqual(new Set((await Promise.all(dead)).flat()), new Set());
  });

  test('is found in the hosts file first, whatever its case and with a dot at its end', () => {
    const text =
      '# names\n127.0.0.1 localhost\n::1\tlocalhost ip6-localhost # loopback\n10.0.0.1 Shop.Internal shop\nbad shop\n';
    assert.deepEqual(findInHosts(text, 'localhost'), [
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ]);
    assert.deepEqual(findInHosts(text, 'SHOP.internal.'), [{ address: '10.0.0.1', family: 4 }]);
    assert.deepEqual(findInHosts(text, 'shop'), [{ address: '10.0.0.1', family: 4 }]);
    assert.deepEqual(findInHosts(text, 'loopback'), []);
  });
});
