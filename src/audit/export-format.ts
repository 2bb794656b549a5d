import { formatIso8601 } from '../kernel/clock.ts';
import type { ChainedRecord } from '../storage/journal.ts';
import { sanitizeTime } from '../storage/sanitize-columns.ts';

/**
 * Formats a record for export: one line of JSON, with everything that its hash covers. A record that was altered may be
 * no JSON; it is exported as text.
 */
export const formatExportedRecord = ({
  lane,
  sequence,
  account,
  environment,
  at,
  record,
  hash,
}: ChainedRecord): string =>
  JSON.stringify({
    lane,
    sequence,
    time: formatIso8601(sanitizeTime(at)),
    at,
    account,
    environment,
    ...parseRecord(record),
    hash,
    record,
  });

function parseRecord(record: string): object {
  try {
    return JSON.parse(record);
  } catch {
    return {};
  }
}
