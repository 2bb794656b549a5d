import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createProcessors, PRODUCTION_HOSTS } from '../payments/processors.ts';
import type { Check } from './check.ts';
import {
  checkAddresses,
  checkProcessorHosts,
  checkService,
  parseListeningSockets,
  type ServiceState,
  serverNameOf,
  toHostAndPort,
} from './network.ts';

const states = (checks: readonly Check[]): string[] => checks.map(({ state }) => state);

const TCP = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:20FB 00000000:0000 0A 00000000:00000000 00:00000000 00000000   998        0 34567 1 0000000000000000 100 0 0 10 0
   1: 0100007F:20FB 0100007F:C001 01 00000000:00000000 00:00000000 00000000     0        0 34568 1 0000000000000000 20 4 0 10 -1
`;
const TCP6 = `  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000001000000:20FC 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000   998        0 34569 1 0000000000000000 100 0 0 10 0
`;

describe('rules about the network', () => {
  test('listening sockets have an address, a port and a user', () => {
    assert.deepEqual(parseListeningSockets(TCP), [{ address: '127.0.0.1', port: 8443, uid: 998, inode: 34567 }]);
    assert.deepEqual(parseListeningSockets(TCP6), [{ address: '::1', port: 8444, uid: 998, inode: 34569 }]);
    assert.deepEqual(parseListeningSockets(''), []);
  });

  test('addresses that are open to all are pointed out', () => {
    const facts = { hosts: ['127.0.0.1', '::1'], metricsAllow: ['127.0.0.0/8'], trustedProxies: [] };
    assert.deepEqual(states(checkAddresses(facts)), ['ok']);
    assert.deepEqual(states(checkAddresses({ ...facts, hosts: ['0.0.0.0'] })), ['warning']);
    assert.deepEqual(states(checkAddresses({ ...facts, hosts: ['::'], metricsAllow: ['::/0'] })), [
      'warning',
      'warning',
    ]);
    assert.deepEqual(states(checkAddresses({ ...facts, trustedProxies: ['0.0.0.0/0'] })), ['problem']);
  });

  test('the service repeats its warnings, and says when it is not ready', () => {
    const running: ServiceState = {
      kind: 'running',
      status: 200,
      warnings: [],
      reason: undefined,
      servesPresentCertificate: true,
    };
    assert.deepEqual(states(checkService(running, 8445)), ['ok']);
    assert.deepEqual(states(checkService({ kind: 'stopped' }, 8445)), ['ok']);
    assert.deepEqual(states(checkService({ kind: 'foreign' }, 8445)), ['problem']);
    assert.deepEqual(states(checkService({ ...running, status: 503, reason: 'sealed' }, 8445)), ['problem']);
    const warned = checkService({ ...running, warnings: ['rotate keys'], servesPresentCertificate: false }, 8445);
    assert.deepEqual([states(warned), warned[0]?.advice], [['warning', 'warning'], 'rotate keys']);
  });

  test('one host of several that fails may be unused', () => {
    const good = { host: 'a.example.com', port: 443, fault: undefined };
    const bad = { host: 'b.example.com', port: 443, fault: 'ECONNREFUSED' };
    assert.deepEqual(states(checkProcessorHosts([])), ['ok']);
    assert.deepEqual(states(checkProcessorHosts([good])), ['ok']);
    assert.deepEqual(states(checkProcessorHosts([good, bad])), ['warning']);
    assert.deepEqual(states(checkProcessorHosts([bad])), ['problem']);
  });

  test('hosts come from origins and from entries', () => {
    assert.deepEqual(toHostAndPort('https://api.example.com'), { host: 'api.example.com', port: 443 });
    assert.deepEqual(toHostAndPort('localhost:9443'), { host: 'localhost', port: 9443 });
    assert.deepEqual(toHostAndPort('[::1]:9443'), { host: '::1', port: 9443 });
    assert.deepEqual([serverNameOf('::1'), serverNameOf('localhost')], [undefined, 'localhost']);
  });

  test('the hosts of each processor are those that it documents', () => {
    const unused = undefined as never;
    const { byName, close } = createProcessors({ database: unused, clock: () => 0, random: unused, hosts: unused });
    close();
    assert.deepEqual(
      PRODUCTION_HOSTS,
      Object.fromEntries(Object.entries(byName).map(([name, { productionHosts = [] }]) => [name, productionHosts])),
    );
  });
});
