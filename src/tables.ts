import { CONSOLE_TABLES } from '../console/tables.ts';
import { TABLES as accountNotices } from './accounts/account-notices.ts';
import { TABLES as accounts } from './accounts/account-store.ts';
import { TABLES as apiKeys } from './accounts/api-key-store.ts';
import { TABLES as approvals } from './accounts/approval-store.ts';
import { TABLES as usage } from './accounts/usage.ts';
import { TABLES as alteredRows } from './audit/altered-rows.ts';
import { TABLES as verifications } from './audit/verification-store.ts';
import { TABLES as captures } from './captures/capture-store.ts';
import { TABLES as idempotency } from './idempotency/idempotency-keys.ts';
import { TABLES as activationRequests } from './payments/activation-request-store.ts';
import { TABLES as processorConfigurations } from './payments/activation-store.ts';
import { TABLES as paymentOperations } from './payments/operation-store.ts';
import { TABLES as payments } from './payments/payment-store.ts';
import { TABLES as simulator } from './payments/processors/simulator/simulator-store.ts';
import { TABLES as proxyConfigurations } from './proxy/proxy-configuration-store.ts';
import { TABLES as storage } from './storage/storage-tables.ts';
import type { Table } from './storage/table.ts';
import { TABLES as tokenMarks } from './vault/blind-index-store.ts';
import { TABLES as tokens } from './vault/token-store.ts';

/** Every table of the database, as its owner declares it. A test compares them with the schema, so that none is forgotten. */
export const ALL_TABLES: readonly Table[] = [
  ...accountNotices,
  ...accounts,
  ...approvals,
  ...apiKeys,
  ...usage,
  ...alteredRows,
  ...verifications,
  ...captures,
  ...idempotency,
  ...activationRequests,
  ...processorConfigurations,
  ...paymentOperations,
  ...payments,
  ...simulator,
  ...proxyConfigurations,
  ...storage,
  ...tokenMarks,
  ...tokens,
  ...CONSOLE_TABLES,
];

/** The tables that make up the vault: a copy has to move all of them. */
export const VAULT_TABLES: readonly Table[] = ALL_TABLES.filter(({ isLocal }) => isLocal !== true);
