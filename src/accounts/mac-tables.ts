import type { MacTable } from '../storage/mac-table.ts';

/** The MAC covers all columns, because every column decides something or is shown to a user who decides. */
export const ACCOUNTS: MacTable = {
  name: 'accounts',
  key: ['id'],
  sealed: {
    id: 'text',
    number: 'integer',
    name: 'text',
    suspended_at: 'integer',
    dual_control: 'integer',
    created_at: 'integer',
    revision: 'integer',
  },
  mac: 'mac',
  target: ({ id }) => `account:${id}`,
};

/**
 * The MAC covers all columns except the time of last use, which changes without the key being changed, and decides
 * nothing.
 */
export const API_KEYS: MacTable = {
  name: 'api_keys',
  key: ['account', 'id'],
  sealed: {
    account: 'text',
    id: 'text',
    environment: 'text',
    digest: 'blob',
    digest_version: 'integer',
    prefix: 'text',
    name: 'text',
    description: 'text',
    permissions: 'text',
    allow_list: 'text',
    created_at: 'integer',
    expires_at: 'integer',
    revoked_at: 'integer',
    successor: 'text',
    revision: 'integer',
  },
  mac: 'mac',
  target: ({ id }) => `key:${id}`,
};

/** The processor of an account's payments: an attacker could otherwise route them to the simulator. */
export const ENABLEMENTS: MacTable = {
  name: 'enablements',
  key: ['account', 'environment', 'capability'],
  sealed: { account: 'text', environment: 'text', capability: 'text', processor: 'text', enabled_at: 'integer' },
  mac: 'mac',
  target: ({ capability }) => `enablement:${capability}`,
};

export const MAC_TABLES: readonly MacTable[] = [ACCOUNTS, API_KEYS, ENABLEMENTS];
