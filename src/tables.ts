import { TABLES as accountNotices } from './accounts/account-notices.ts';
import { TABLES as accounts } from './accounts/account-store.ts';
import { TABLES as apiKeys } from './accounts/api-key-store.ts';
import { MAC_TABLES } from './accounts/mac-tables.ts';
import { TABLES as requestLog } from './accounts/request-log-store.ts';
import { TABLES as usage } from './accounts/usage.ts';
import { TABLES as alteredRows } from './audit/altered-rows.ts';
import { TABLES as auditCheckpoints } from './audit/checkpoint-store.ts';
import { TABLES as auditPositions } from './audit/journal-tail.ts';
import { TABLES as auditFindings } from './audit/review-store.ts';
import { DIGEST_COLUMNS as verificationDigests, TABLES as verifications } from './audit/verification-store.ts';
import { TABLES as backups } from './backup/backup-store.ts';
import {
  TABLES as captureSessions,
  SEALED_COLUMNS as sealedCaptureSessions,
} from './capture-sessions/session-store.ts';
import {
  DIGEST_COLUMNS as captureDigests,
  TABLES as captures,
  SEALED_COLUMNS as sealedCaptures,
} from './captures/capture-store.ts';
import {
  TABLES as idempotency,
  DIGEST_COLUMNS as requestDigests,
  SEALED_COLUMNS as sealedResponses,
} from './idempotency/idempotency-keys.ts';
import { TABLES as processorConfigurations, SEALED_COLUMNS as sealedSettings } from './payments/activation-store.ts';
import { TABLES as payments, SEALED_COLUMNS as sealedPayments } from './payments/payment-store.ts';
import { TABLES as paymentTotals } from './payments/payment-totals.ts';
import { TABLES as simulator } from './payments/processors/simulator/simulator-store.ts';
import {
  TABLES as proxyConfigurations,
  SEALED_COLUMNS as sealedConfigurations,
} from './proxy/proxy-configuration-store.ts';
import { DIGEST_COLUMNS as clockDigests } from './storage/clock-record-store.ts';
import type { DigestColumn, RotatedColumns } from './storage/digest-columns.ts';
import { DIGEST_COLUMNS as journalDigests } from './storage/journal.ts';
import { DIGEST_COLUMNS as registerDigests } from './storage/lane-register.ts';
import { toDigestColumn } from './storage/mac-table.ts';
import type { SealedColumns } from './storage/sealed-columns.ts';
import { TABLES as storage } from './storage/storage-tables.ts';
import type { Table } from './storage/table.ts';
import { TABLES as imports } from './transfer/import-store.ts';
import { TABLES as retention, SEALED_COLUMNS as sealedRules } from './vault/retention-store.ts';
import {
  SEALED_COLUMNS as sealedTokens,
  DIGEST_COLUMNS as tokenDigests,
  TABLES as tokens,
} from './vault/token-store.ts';
import { TABLES as webhookExpiries } from './webhooks/expiry-marks.ts';
import { SEALED_COLUMNS as sealedWebhooks, TABLES as webhooks } from './webhooks/webhook-store.ts';

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
  ...backups,
  ...captureSessions,
  ...captures,
  ...idempotency,
  ...processorConfigurations,
  ...payments,
  ...paymentTotals,
  ...simulator,
  ...proxyConfigurations,
  ...retention,
  ...storage,
  ...tokens,
  ...imports,
  ...webhookExpiries,
  ...webhooks,
];

/** The tables that a copy has to move: all but those that belong to one database alone. */
export const listCopiedTables = (consoleTables: readonly Table[]): readonly Table[] =>
  [...VAULT_TABLES, ...consoleTables].filter(({ isLocal }) => isLocal !== true);

/** The sealed columns of every table of the vault. */
export const SEALED_COLUMNS: readonly SealedColumns[] = [
  ...sealedCaptures,
  ...sealedCaptureSessions,
  ...sealedConfigurations,
  ...sealedPayments,
  ...sealedResponses,
  ...sealedSettings,
  ...sealedTokens,
  ...sealedRules,
  ...sealedWebhooks,
];

/** The columns of keyed digests and MACs of every table of the vault. */
const DIGEST_COLUMNS: readonly DigestColumn[] = [
  ...MAC_TABLES.map(toDigestColumn),
  ...captureDigests,
  ...clockDigests,
  ...journalDigests,
  ...registerDigests,
  ...requestDigests,
  ...tokenDigests,
  ...verificationDigests,
];

/** The columns of the vault that depend on keys which can be rotated. */
export const ROTATED_COLUMNS: RotatedColumns = { sealed: SEALED_COLUMNS, digests: DIGEST_COLUMNS };

/** Returns the columns of the vault and of the console, if there is one. */
export const withConsoleColumns = (console: RotatedColumns | undefined): RotatedColumns => ({
  sealed: [...SEALED_COLUMNS, ...(console?.sealed ?? [])],
  digests: [...DIGEST_COLUMNS, ...(console?.digests ?? [])],
});

/** Does the same for columns that are loaded when they are needed. */
export const listRotatedColumns = async (
  listOfConsole: (() => Promise<RotatedColumns>) | undefined,
): Promise<RotatedColumns> => withConsoleColumns(await listOfConsole?.());
