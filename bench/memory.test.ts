import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onlyLong } from '../test/scope.ts';
import { measureMemory, memorySection } from './memory.ts';

const memory = (resident: number) => ({ resident, file: resident / 2, anonymous: resident / 2 });
const conditions = {
  ...{ date: '2026-01-31', cores: 2, processor: 'CPU', memoryGiB: 4, node: '24', version: '1', settings: {} },
};
const settings = { rounds: 1, settleSeconds: 10, seconds: 5, workers: [1] };

test('the section shows each process with its parts', () => {
  const bare = [{ name: 'Node', idle: memory(40e6) }];
  const services = [
    { workers: 1, idle: memory(120e6), loaded: memory(300e6) },
    { workers: 2, idle: memory(185e6), loaded: memory(410e6) },
    { workers: 4, idle: memory(245e6), loaded: memory(500e6) },
  ];
  const section = memorySection({ ...settings, bare, services }, conditions);
  assert.match(section, /\| Node +\| 40 MB +\| 20 MB +\| 20 MB +\| - +\| - +\| - +\|/);
  assert.ok(section.includes('takes 120 MB (≤ 130 MB: met) idle and 300 MB (≤ 400 MB: met) loaded.'), section);
  assert.ok(section.includes('further thread takes 65 MB (≤ 60 MB: **missed**), 30 MB (≤ 60 MB: met).'), section);
  assert.match(section, /1 request thread +\| 120 MB +\| 60 MB +\| 60 MB +\| 300 MB +\| 150 MB +\| 150 MB +\|/);
});

test('the memory of a service is more than that of Node with the same threads', { skip: onlyLong }, async () => {
  const { bare, services } = await measureMemory({ ...settings, settleSeconds: 4, seconds: 1 }, () => undefined);
  const [least = Number.NaN] = bare.slice(-1).map(({ idle }) => idle.resident);
  const [service] = services;
  assert.ok(service !== undefined && least > 0 && service.idle.resident > least);
  assert.equal(service.idle.file + service.idle.anonymous <= service.idle.resident, true);
});
