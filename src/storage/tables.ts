/**
 * Every table of the schema, for work that concerns the whole of a vault. A test compares this with the real schema, so
 * that none is forgotten.
 */

/** What a column holds besides null: text, whole numbers (`integer`, `bigint`), or bytes. */
export type Kind = 'text' | 'integer' | 'blob';

export interface Table {
  readonly name: string;
  /** The columns of the primary key or of the unique index in its place, none of them null, in the order of the key. */
  readonly key: readonly string[];
  /** All columns, in the order of the schema. */
  readonly columns: Readonly<Record<string, Kind>>;
}

/** What the vault consists of: whoever moves it has to move all of these. */
export const VAULT_TABLES: readonly Table[] = [
  {
    name: 'wrapped_keys',
    key: ['account', 'environment', 'purpose', 'version'],
    columns: {
      account: 'text',
      environment: 'text',
      purpose: 'text',
      version: 'integer',
      id: 'text',
      wrapped: 'blob',
      reserved: 'integer',
      created_at: 'integer',
    },
  },
  {
    name: 'accounts',
    key: ['id'],
    columns: { id: 'text', name: 'text', suspended_at: 'integer', created_at: 'integer' },
  },
  {
    name: 'enablements',
    key: ['account', 'environment', 'capability'],
    columns: { account: 'text', environment: 'text', capability: 'text', processor: 'text', enabled_at: 'integer' },
  },
  {
    name: 'api_keys',
    key: ['account', 'id'],
    columns: {
      account: 'text',
      id: 'text',
      environment: 'text',
      digest: 'blob',
      prefix: 'text',
      name: 'text',
      description: 'text',
      permissions: 'text',
      allow_list: 'text',
      expires_at: 'integer',
      revoked_at: 'integer',
      last_used_at: 'integer',
      successor: 'text',
      revision: 'integer',
      seal: 'blob',
      created_at: 'integer',
    },
  },
  {
    name: 'tokens',
    key: ['account', 'environment', 'slot'],
    columns: {
      account: 'text',
      environment: 'text',
      slot: 'text',
      scheme: 'integer',
      fingerprint: 'blob',
      fingerprint_version: 'integer',
      form: 'text',
      record: 'blob',
      revision: 'integer',
      created_at: 'integer',
      deleted_at: 'integer',
    },
  },
  {
    name: 'captures',
    key: ['account', 'environment', 'id'],
    columns: {
      account: 'text',
      environment: 'text',
      id: 'text',
      record: 'blob',
      sensitive: 'blob',
      fingerprint: 'blob',
      fingerprint_version: 'integer',
      amount: 'integer',
      currency: 'text',
      created_at: 'integer',
      expires_at: 'integer',
    },
  },
  {
    name: 'idempotency',
    key: ['account', 'environment', 'id'],
    columns: {
      account: 'text',
      environment: 'text',
      id: 'blob',
      request: 'blob',
      owner: 'text',
      lease_until: 'integer',
      status: 'integer',
      answer: 'blob',
      expires_at: 'integer',
      bound: 'text',
    },
  },
  {
    name: 'proxy_configurations',
    key: ['account', 'environment'],
    columns: {
      account: 'text',
      environment: 'text',
      revision: 'integer',
      record: 'blob',
      merchant_expires_at: 'integer',
      processor_expires_at: 'integer',
    },
  },
  {
    name: 'processor_configurations',
    key: ['account', 'environment', 'processor'],
    columns: { account: 'text', environment: 'text', processor: 'text', revision: 'integer', record: 'blob' },
  },
  {
    name: 'payments',
    key: ['account', 'environment', 'id'],
    columns: {
      account: 'text',
      environment: 'text',
      id: 'text',
      processor: 'text',
      status: 'text',
      operation: 'text',
      processor_id: 'text',
      record: 'blob',
      revision: 'integer',
      attempts: 'integer',
      notification: 'blob',
      created_at: 'integer',
      due_at: 'integer',
      doubtful_at: 'integer',
    },
  },
  {
    name: 'payment_operations',
    key: ['account', 'environment', 'id'],
    columns: {
      account: 'text',
      environment: 'text',
      payment: 'text',
      id: 'text',
      type: 'text',
      state: 'text',
      processor_id: 'text',
      record: 'blob',
      revision: 'integer',
      created_at: 'integer',
    },
  },
  {
    name: 'simulator_payments',
    key: ['account', 'environment', 'key'],
    columns: {
      account: 'text',
      environment: 'text',
      key: 'text',
      reference: 'text',
      verdict: 'text',
      reason: 'text',
      amount: 'text',
      currency: 'text',
      sale: 'integer',
      captured: 'text',
      refunded: 'text',
      undone: 'integer',
      behaviour: 'text',
      news_at: 'integer',
      created_at: 'integer',
      revision: 'integer',
    },
  },
  {
    name: 'simulator_movements',
    key: ['account', 'environment', 'key'],
    columns: {
      account: 'text',
      environment: 'text',
      key: 'text',
      reference: 'text',
      payment: 'text',
      move: 'text',
      amount: 'text',
      currency: 'text',
      verdict: 'text',
      reason: 'text',
    },
  },
  {
    name: 'journal',
    key: ['account', 'lane', 'sequence'],
    columns: {
      account: 'text',
      lane: 'integer',
      sequence: 'integer',
      environment: 'text',
      at: 'integer',
      record: 'text',
      hash: 'text',
    },
  },
  {
    name: 'journal_heads',
    key: ['account', 'lane'],
    columns: { account: 'text', lane: 'integer', sequence: 'integer', hash: 'text', seal: 'blob' },
  },
];

/** What concerns a running service over one database, and stays with it. */
export const SERVICE_TABLES: readonly string[] = ['schema_migrations', 'heartbeat', 'writers', 'leases', 'copies'];
