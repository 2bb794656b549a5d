import { TABLES as accountNotices } from './accounts/account-notices.ts';
import { TABLES as accounts } from './accounts/account-store.ts';
import { TABLES as apiKeys } from './accounts/api-key-store.ts';
import { TABLES as requestLog } from './accounts/request-log-store.ts';
import { TABLES as usage } from './accounts/usage.ts';
import { TABLES as alteredRows } from './audit/altered-rows.ts';
import { TABLES as auditCheckpoints } from './audit/checkpoint-store.ts';
import { TABLES as auditPositions } from './audit/journal-tail.ts';
import { TABLES as auditFindings } from './audit/review-store.ts';
import { TABLES as verifications } from './audit/verification-store.ts';
import { TABLES as captureSessions } from './capture-sessions/session-store.ts';
import { TABLES as captures } from './captures/capture-store.ts';
import { TABLES as idempotency } from './idempotency/idempotency-keys.ts';
import { TABLES as processorConfigurations } from './payments/activation-store.ts';
import { TABLES as payments } from './payments/payment-store.ts';
import { TABLES as paymentTotals } from './payments/payment-totals.ts';
import { TABLES as simulator } from './payments/processors/simulator/simulator-store.ts';
import { TABLES as proxyConfigurations } from './proxy/proxy-configuration-store.ts';
import { TABLES as storage } from './storage/storage-tables.ts';
import type { Table } from './storage/table.ts';
import { TABLES as imports } from './transfer/import-store.ts';
import { TABLES as tokens } from './vault/token-store.ts';
import { TABLES as webhookExpiries } from './webhooks/expiry-marks.ts';
import { TABLES as webhooks } from './webhooks/webhook-store.ts';

/** Every table of the vault, as its owner declares it. A test compares them and the console's with the schema. */
export const VAULT_TABLES: readonly Table[] = [
  ...accountNotices,
  ...accounts,
  ...apiKeys,
  ...requestLog,
  ...usage,
  ...alteredRows,
  ...auditCheckpoints,
  ...auditPositions,
  ...auditFindings,
  ...verifications,
  ...captureSessions,
  ...captures,
  ...idempotency,
  ...processorConfigurations,
  ...payments,
  ...paymentTotals,
  ...simulator,
  ...proxyConfigurations,
  ...storage,
  ...tokens,
  ...imports,
  ...webhookExpiries,
  ...webhooks,
];

/** The tables that a copy has to move: all but those that belong to one database alone. */
export const listCopiedTables = (consoleTables: readonly Table[]): readonly Table[] =>
  [...VAULT_TABLES, ...consoleTables].filter(({ isLocal }) => isLocal !== true);
