import { formatIso8601 } from '../kernel/clock.ts';
import type { ChainedRecord } from '../storage/journal.ts';

/**
 * A record as it leaves the service: one line of JSON, with everything that its hash is made of. One that somebody changed
 * may be no JSON any more: then it is there as text alone.
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
    time: formatIso8601(at),
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
