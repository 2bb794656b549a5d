import type { Table } from './table.ts';

/** What the console keeps: people, what they ask of one another, counts, and what tokens are found by. */
export const CONSOLE_TABLES: readonly Table[] = [
  {
    name: 'people',
    key: ['id'],
    columns: {
      id: 'text',
      email: 'blob',
      record: 'blob',
      revision: 'integer',
      created_at: 'integer',
    },
  },
  {
    name: 'sign_in_states',
    key: ['person'],
    columns: {
      person: 'text',
      record: 'blob',
      last_sign_in_at: 'integer',
      password_blocked_at: 'integer',
      disabled_at: 'integer',
    },
  },
  {
    name: 'factors',
    key: ['person', 'id'],
    columns: {
      person: 'text',
      id: 'text',
      kind: 'text',
      record: 'blob',
      counter: 'integer',
      created_at: 'integer',
      last_used_at: 'integer',
    },
  },
  {
    name: 'memberships',
    key: ['account', 'person'],
    columns: { account: 'text', person: 'text', role: 'text', seal: 'blob', created_at: 'integer' },
  },
  {
    name: 'invitations',
    key: ['account', 'id'],
    columns: {
      account: 'text',
      id: 'text',
      digest: 'blob',
      person: 'text',
      record: 'blob',
      created_at: 'integer',
      expires_at: 'integer',
    },
  },
  {
    name: 'account_notices',
    key: ['account', 'environment', 'kind'],
    columns: { account: 'text', environment: 'text', kind: 'text', at: 'integer' },
  },
  {
    name: 'approvals',
    key: ['account', 'environment', 'id'],
    columns: {
      account: 'text',
      environment: 'text',
      id: 'text',
      status: 'text',
      requested_by: 'text',
      decided_by: 'text',
      record: 'blob',
      created_at: 'integer',
      expires_at: 'integer',
      call: 'blob',
    },
  },
  {
    name: 'activation_requests',
    key: ['account', 'environment', 'id'],
    columns: {
      account: 'text',
      environment: 'text',
      id: 'text',
      status: 'text',
      requested_by: 'text',
      decided_by: 'text',
      record: 'blob',
      created_at: 'integer',
      decided_at: 'integer',
    },
  },
  {
    name: 'statistics',
    key: ['account', 'environment', 'hour', 'name'],
    columns: { account: 'text', environment: 'text', hour: 'integer', name: 'text', number: 'integer' },
  },
  {
    name: 'token_marks',
    key: ['account', 'environment', 'mark', 'created_at', 'slot'],
    columns: { account: 'text', environment: 'text', mark: 'blob', created_at: 'integer', slot: 'text' },
  },
];
