import { type Field, object, oneOf, optional, output, plainText } from '../../src/http/fields.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { listAudit, listServiceAudit } from './audit.ts';
import { type Definition, define } from './definition.ts';
import { listPayments } from './payments.ts';
import { listCaptures, listTokens } from './records.ts';
import { listAllRequests, listRequests } from './request-log.ts';

/** Exports of what the filters of a list show. */

export const EXPORT_FORMATS = ['csv', 'json'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** The reason for which an export ended before the list did: its number of rows, or its time. */
export const EXPORT_LIMITS = ['rows', 'time'] as const;

/**
 * A line of the response. All but the last one hold a piece of the file, with the number of rows so far; without the last one
 * the file is incomplete.
 */
export type ExportLine =
  | { readonly text: string; readonly rows: number }
  | { readonly rows: number; readonly limit: (typeof EXPORT_LIMITS)[number] | null };

const bodyWith = <Filter>(filter: Field<Filter>) =>
  object({ format: oneOf(EXPORT_FORMATS, 'Format of the file'), filter });

/** The body for an export of a list, whose filter is the body of the list. */
const exportBody = <Filter>({ body }: Definition<Filter>) => bodyWith(body as Field<Filter>);

const data = output.text('application/x-ndjson: lines of the type ExportLine');

export const exportPayments = define({
  method: 'POST',
  path: '/api/accounts/:account/:environment/payments/export',
  access: 'records:export',
  allowedWhileSuspended: true,
  body: exportBody(listPayments),
  data,
});

export const exportTokens = define({
  method: 'POST',
  path: '/api/accounts/:account/:environment/tokens/export',
  access: 'records:export',
  stepUp: true,
  allowedWhileSuspended: true,
  body: exportBody(listTokens),
  data,
});

export const exportCaptures = define({
  method: 'POST',
  path: '/api/accounts/:account/:environment/captures/export',
  access: 'records:export',
  stepUp: true,
  allowedWhileSuspended: true,
  body: exportBody(listCaptures),
  data,
});

/** Needs what reading the log needs. For the complete log with the data to verify it see `exportAudit`. */
export const exportAuditRecords = define({
  method: 'POST',
  path: '/api/accounts/:account/audit/records/export',
  access: 'audit:read',
  allowedWhileSuspended: true,
  body: exportBody(listAudit),
  data,
});

/** Needs what reading the log needs. */
export const exportRequests = define({
  method: 'POST',
  path: '/api/accounts/:account/:environment/requests/export',
  access: 'requests:read',
  allowedWhileSuspended: true,
  body: exportBody(listRequests),
  data,
});

/** The records of no account, or with a filter of one account. */
export const exportServiceAuditRecords = define({
  method: 'POST',
  path: '/api/operator/audit/records/export',
  access: 'operate',
  body: exportBody(listServiceAudit),
  data,
});

export const exportAllRequests = define({
  method: 'POST',
  path: '/api/operator/request-log/export',
  access: 'operate',
  body: exportBody(listAllRequests),
  data,
});

/** The browser filters its list of accounts, so the filter is its own. */
export const exportAccounts = define({
  method: 'POST',
  path: '/api/operator/accounts/export',
  access: 'operate',
  body: bodyWith(
    object({ search: optional(plainText(LIMITS.searchCharacters, 'Part of the name or the id, in either case')) }),
  ),
  data,
});

/** The payments with an unknown outcome of all accounts. */
export const exportUnknownOutcomes = define({
  method: 'POST',
  path: '/api/operator/unknown-outcomes/export',
  access: 'operate',
  body: bodyWith(object({})),
  data,
});
