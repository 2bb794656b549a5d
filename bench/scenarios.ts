import { ECHO, UNSTORED } from './comparisons.ts';
import { POSTGRES_SCENARIOS } from './postgres-scenarios.ts';
import { RETRIEVAL, type Scenario, TOKENIZATION } from './scenario.ts';
import type { Ready } from './server.ts';

const NO_IDS = (): readonly string[] => [''];
const REQUESTS = { each: 1, unit: 'requests' };
const TOKENS = ({ tokens }: Ready): readonly string[] => tokens;
const PROXY = { method: 'POST', keyHeader: 'ft-access-key', ids: TOKENS } as const;
const HASH = { ...PROXY, ...REQUESTS, path: '/proxy/hash?type=SHA256', against: 'echo', prefix: ECHO, target: 0.85 };
const BARE = { against: 'bare RSA-2048 signing' };
const BARE_SERVER = { against: 'bare node:https', otherLayout: 'bare', target: 0.4 } as const;
const JOSE = { ...PROXY, ...BARE, path: '/proxy/jose', shape: 'purchase in JSON', target: 0.8 } as const;
const WSSEC = {
  ...PROXY,
  ...BARE,
  path: '/proxy/wssec',
  shape: 'purchase in XML',
  each: 1,
  unit: 'envelopes',
} as const;

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'tokenize 1 card, durable',
    ...TOKENIZATION,
    ...REQUESTS,
    shape: 'card',
    against: 'echo',
    prefix: ECHO,
    target: 0.6,
    ids: NO_IDS,
  },
  {
    name: 'tokenize 100 cards, durable',
    ...TOKENIZATION,
    each: 100,
    unit: 'cards',
    shape: 'hundred cards',
    against: 'the same without storage',
    prefix: UNSTORED,
    target: 0.8,
    ids: NO_IDS,
  },
  {
    name: 'create a capture, durable',
    method: 'POST',
    path: '/transactions/requests',
    ...REQUESTS,
    shape: 'capture',
    against: 'echo',
    prefix: ECHO,
    target: 0.65,
    ids: NO_IDS,
  },
  {
    name: 'retrieve a capture, audit record durable',
    method: 'GET',
    path: RETRIEVAL,
    ...REQUESTS,
    shape: 'none',
    against: 'echo',
    prefix: ECHO,
    target: 0.6,
    ids: ({ captures }) => captures,
  },
  {
    name: 'inspect a token',
    method: 'GET',
    path: '/v1/tokens/{id}/inspect',
    ...REQUESTS,
    shape: 'none',
    against: 'echo',
    prefix: ECHO,
    target: 0.8,
    ids: TOKENS,
  },
  {
    name: 'jose nested, audit record durable',
    ...JOSE,
    each: 2,
    unit: 'signatures',
    settings: { 'jose.payload': 'nested' },
  },
  {
    name: 'jose plain, audit record durable',
    ...JOSE,
    each: 1,
    unit: 'signatures',
    settings: { 'jose.payload': 'plain' },
  },
  { name: 'wssec encrypt-sign, audit record durable', ...WSSEC, settings: { 'wssec.order': 'encrypt-sign' } },
  { name: 'wssec sign-encrypt, audit record durable', ...WSSEC, settings: { 'wssec.order': 'sign-encrypt' } },
  {
    name: 'authorize with the simulator, durable',
    method: 'POST',
    path: '/v1/payments',
    ...REQUESTS,
    shape: 'authorization',
    against: 'tokenize 1 card',
    beside: { path: TOKENIZATION.path, shape: 'card' },
    target: 0.6,
    ids: NO_IDS,
  },
  { name: 'hash with 3 placeholders, audit record durable', ...HASH, shape: 'hashed with placeholders' },
  { name: 'hash without placeholders', ...HASH, shape: 'hashed' },
  { name: 'bare: hash without placeholders', ...PROXY, ...REQUESTS, path: HASH.path, shape: 'hashed', ...BARE_SERVER },
  {
    name: 'bare: echo of a tokenization',
    ...TOKENIZATION,
    ...REQUESTS,
    path: ECHO + TOKENIZATION.path,
    shape: 'card',
    ids: NO_IDS,
    ...BARE_SERVER,
  },
  ...POSTGRES_SCENARIOS,
];
