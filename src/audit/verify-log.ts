import type { DigestKeys } from '../crypto/digest-keys.ts';
import type { SigningKeys } from '../crypto/signing-key.ts';
import { formatReason } from '../kernel/reasons.ts';
import type { Database } from '../storage/database.ts';
import { loadBeginnings } from './beginnings.ts';
import { verifyCheckpoints } from './checkpoints.ts';
import { type Verification, verifyAccount, verifyJournal } from './verify-journal.ts';

interface LogParts {
  readonly database: Database;
  readonly journalKey: DigestKeys;
  readonly signingKeys: Pick<SigningKeys, 'list'>;
}

export interface LogVerification extends Verification {
  /** Number of verified signed checkpoints; 0 when a record is at fault. */
  readonly checkpoints: number;
}

/**
 * Verifies the records, and then the signed checkpoints, which name records. With `account`, verifies the records of one
 * account, or with '' those of the service, and the heads that checkpoints name of them.
 */
export async function verifyLog(parts: LogParts, account?: string): Promise<LogVerification> {
  const { database, journalKey, signingKeys } = parts;
  const verified =
    account === undefined
      ? await verifyJournal(database, journalKey, { signingKeys })
      : await verifyAccount(database, journalKey, account, { signingKeys });
  const beginnings = await loadBeginnings(database, signingKeys);
  // Altered meanwhile: the next verification finds it.
  if (!verified.ok || beginnings === 'altered') return { ...verified, checkpoints: 0 };
  const { checkpoints, fault } = await verifyCheckpoints(database, signingKeys, beginnings, { account });
  if (fault === undefined) return { ...verified, checkpoints };
  // Checkpoints may have been removed with the beginning of the log while they were verified.
  const later = await loadBeginnings(database, signingKeys);
  if (later !== 'altered' && later.time !== beginnings.time) return verifyLog(parts, account);
  return { ...verified, ok: false, checkpoints, fault: formatReason(fault), explanation: fault };
}
