import { RETRIEVAL, type Scenario, TOKENIZATION } from './scenario.ts';

/** The service over PostgreSQL: against itself over SQLite, and against what the database makes of bare inserts. */
const OVER_POSTGRES = { layout: 'postgres', each: 1, unit: 'requests', against: 'the same over SQLite' } as const;
const TOKENIZE = { ...TOKENIZATION, shape: 'card', ids: () => [''] } as const;

export const POSTGRES_SCENARIOS: readonly Scenario[] = [
  {
    ...OVER_POSTGRES,
    ...TOKENIZE,
    name: 'tokenize 1 card over PostgreSQL, durable',
    otherLayout: 'sqlite',
    target: 0.9,
  },
  {
    ...OVER_POSTGRES,
    ...TOKENIZE,
    name: 'tokenize 1 card over PostgreSQL, beside inserts',
    against: 'bare inserts, PostgreSQL',
    inserts: 'postgres',
  },
  {
    ...OVER_POSTGRES,
    ...TOKENIZE,
    name: 'tokenize 1 card over SQLite, beside inserts',
    layout: 'sqlite',
    against: 'bare inserts, SQLite',
    inserts: 'sqlite',
  },
  {
    ...OVER_POSTGRES,
    ...TOKENIZE,
    name: 'tokenize 1 card, two nodes over one PostgreSQL',
    layout: 'two nodes',
    against: 'one node over it',
    otherLayout: 'postgres',
  },
  {
    ...OVER_POSTGRES,
    name: 'create a capture over PostgreSQL, durable',
    method: 'POST',
    path: '/transactions/requests',
    shape: 'capture',
    otherLayout: 'sqlite',
    ids: () => [''],
  },
  {
    ...OVER_POSTGRES,
    name: 'retrieve a capture over PostgreSQL, durable',
    method: 'GET',
    path: RETRIEVAL,
    shape: 'none',
    otherLayout: 'sqlite',
    ids: ({ captures }) => captures,
  },
  {
    ...OVER_POSTGRES,
    name: 'authorize over PostgreSQL, durable',
    method: 'POST',
    path: '/v1/payments',
    shape: 'authorization',
    otherLayout: 'sqlite',
    ids: () => [''],
  },
];
