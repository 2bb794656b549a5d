import type { StoredVerification } from '../audit/verification-store.ts';
import { DAY, formatIso8601, HOUR } from '../kernel/clock.ts';
import { type Check, faultsOr, ok, problem, warning } from './check.ts';

/** Rules about keys, backups and the audit log of a vault. */

/** How long after a verification of the audit log the next one is overdue. */
const VERIFIED_WITHIN_MS = { daily: 2 * DAY, full: 8 * DAY };
/** The age of a backup that is pointed out where no setting states one. */
const BACKUP_WITHIN_MS = 2 * DAY;

interface CustodyFacts {
  readonly kind: string;
  /** True when the root key is in clear in the data directory. */
  readonly isKeyBesideData: boolean;
  /** True when API keys for production exist; undefined while the database cannot be read. */
  readonly hasProductionKeys: boolean | undefined;
  /** True while the file of a former root key exists. */
  readonly hasPrevious: boolean;
}

export function checkCustody({
  kind,
  isKeyBesideData,
  hasProductionKeys,
  hasPrevious,
}: CustodyFacts): readonly Check[] {
  const name = 'custody';
  const advice = 'choose another custody: cardvault keyring custody move';
  const faults: Check[] = [];
  if (isKeyBesideData)
    faults.push(
      hasProductionKeys === true
        ? problem(name, 'the root key is in clear beside the data, and API keys for production exist', advice)
        : warning(name, 'the root key is in clear beside the data', `before production, ${advice}`),
    );
  if (hasPrevious)
    faults.push(
      warning(
        name,
        'the file of a former root key exists',
        'finish the rotation of the root key, or: cardvault keyring custody discard --file FILE.previous',
      ),
    );
  return faultsOr(faults, ok(name, `the custody of the root key is ${kind}`));
}

/** `count`: keys that are older than their period. */
export const checkKeyAges = (count: number): Check =>
  count === 0
    ? ok('keys', 'no key is older than its period')
    : warning('keys', `${count} keys are older than their period`, 'rotate them: cardvault keyring rotate');

/** Ages, and the greatest ones that the settings allow, in milliseconds; undefined for none. */
export interface BackupFacts {
  readonly ages: Readonly<Record<'backup' | 'drill', number | undefined>>;
  readonly maxAges: Readonly<Record<'backup' | 'drill', number | undefined>>;
}

export const checkBackups = ({ ages, maxAges }: BackupFacts): readonly Check[] => [
  checkAge('backup', ages.backup, maxAges.backup, BACKUP_WITHIN_MS, 'create one: cardvault backup FILE'),
  checkAge('drill', ages.drill, maxAges.drill, undefined, 'try a backup: cardvault drill --identity FILE'),
];

function checkAge(
  name: string,
  age: number | undefined,
  allowed: number | undefined,
  usual: number | undefined,
  advice: string,
): Check {
  const subject = name === 'backup' ? 'backup' : 'drill of a backup';
  if (age === undefined)
    return allowed === undefined
      ? warning(name, `no ${subject} without a fault is recorded`, `${advice}, unless other tools make backups`)
      : problem(name, `no ${subject} without a fault is recorded`, advice);
  const message = `the last ${subject} is ${Math.round(age / HOUR)} hours old`;
  if (allowed !== undefined && age > allowed) return problem(name, message, advice);
  return usual !== undefined && allowed === undefined && age > usual
    ? warning(name, message, advice)
    : ok(name, message);
}

/** `verifications`: the newest one of each kind. */
export function checkAuditLog(verifications: readonly StoredVerification[], now: number): readonly Check[] {
  const name = 'audit log';
  const faults: Check[] = [];
  if (verifications.some(({ fault }) => fault !== ''))
    faults.push(
      problem(
        name,
        'the last verification found a fault',
        'keep a copy of all files, run cardvault audit verify, and treat it as an incident',
      ),
    );
  for (const kind of ['daily', 'full'] as const) {
    const at = verifications.find((each) => each.kind === kind)?.succeededAt ?? 0;
    if (now - at <= VERIFIED_WITHIN_MS[kind]) continue;
    const when = at === 0 ? 'was never completed' : `was last completed ${formatIso8601(at)}`;
    faults.push(
      warning(name, `the ${kind} verification ${when}`, 'keep the service running, or: cardvault audit verify'),
    );
  }
  return faultsOr(faults, ok(name, 'the audit log was verified in time, without a fault'));
}
