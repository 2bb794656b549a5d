import { AlteredRows } from '../../../src/audit/altered-rows.ts';
import { findHead, listLanesOfAccount } from '../../../src/audit/chain-reader.ts';
import { formatIso8601, formatIso8601OrNull } from '../../../src/kernel/clock.ts';
import { LIMITS } from '../../../src/kernel/limits.ts';
import { countInDoubt } from '../../../src/payments/payment-queries.ts';
import { isHeadSealValid } from '../../../src/storage/journal.ts';
import { schemaVersion } from '../../../src/storage/migrate.ts';
import { listWrappedKeys } from '../../../src/storage/wrapped-key-store.ts';
import { INACTIVE_MS } from '../../people/inactive-users.ts';
import { countBlockedPasswords, countInactive } from '../../people/sign-in-state-store.ts';
import { showHealth, showKeyring } from '../../wire/operator.ts';
import { runHealthChecks } from '../health.ts';
import { type ConsoleServices, type Route, route } from '../route.ts';
import { listAccountNames } from './operator-payments.ts';

const MIB = 2 ** 20;

export const operatorServiceRoutes: readonly Route[] = [
  route(showKeyring, async ({ services }) => ({
    // In the order of versions, so that the newest of each comes last.
    keys: [...listNewest(await listWrappedKeys(services.database))].map((key) => ({
      account: key.account,
      environment: key.environment,
      purpose: key.purpose,
      versions: key.version,
      newest_at: formatIso8601(key.createdAt),
      used: key.reserved,
      limit: LIMITS.sealsPerDataKey,
    })),
  })),

  route(showHealth, async ({ services, now }) => {
    const { serviceInfo, database, time } = services;
    const isReady = await database.isAlive();
    const inDoubtPayments = await countInDoubt(database);
    const counts = await new AlteredRows(services).countByTable();
    const alteredRows = [...counts.values()].reduce((sum, count) => sum + count, 0);
    const proxyCertificates = await listProxyCertificates(services);
    const certificateEnd = serviceInfo.certificateEnd();
    const isTimeTrusted = time.read().distrust === undefined;
    const inputs = {
      now,
      isReady,
      isTimeTrusted,
      inDoubtPayments,
      alteredRows,
      inactiveUsers: await countInactive(database, now - INACTIVE_MS),
      blockedPasswords: await countBlockedPasswords(database),
      certificateEnd,
      waitingWrites: database.queuedUnits,
      coreDumps: serviceInfo.coreDumps,
      isRootKeyExposed: await serviceInfo.isRootKeyExposed(),
    };
    const proxyEnds = proxyCertificates.map(({ end }) => end);
    return {
      ready: isReady,
      version: serviceInfo.version,
      node: process.version,
      database: serviceInfo.isShared ? 'postgres' : 'sqlite',
      schema: await schemaVersion(database),
      started_at: formatIso8601(serviceInfo.startedAt),
      now: formatIso8601(now),
      waiting_writes: database.queuedUnits,
      memory_mib: Math.round(process.memoryUsage().rss / MIB),
      in_doubt_payments: inDoubtPayments,
      certificate_expires_at: formatIso8601OrNull(certificateEnd),
      proxy_certificates: proxyCertificates.map(({ end, ...each }) => ({ ...each, expires_at: formatIso8601(end) })),
      checks: runHealthChecks({ ...inputs, proxyEnds, isLogSealed: await isLogSealed(services) }).map(
        ({ expiresAt, ...check }) => ({
          ...check,
          expires_at: formatIso8601OrNull(expiresAt),
        }),
      ),
    };
  }),
];

/** Lists the newest key of each scope and purpose. */
const listNewest = <T extends { account: string; environment: string; purpose: string }>(keys: readonly T[]) =>
  new Map(keys.map((key) => [`${key.environment}/${key.account}/${key.purpose}`, key])).values();

/** The earliest expiry first. */
async function listProxyCertificates(services: ConsoleServices) {
  const names = await listAccountNames(services);
  return (await services.configurations.listCertificateExpiries())
    .map(({ account, environment, certificate: which, expiresAt: end }) => ({
      account,
      account_name: names.get(account) ?? '',
      environment,
      which,
      end,
    }))
    .sort((one, other) => one.end - other.end);
}

/** The chains of no account, which announce all others; undefined when they cannot be read. */
async function isLogSealed({ database, journalKey }: ConsoleServices): Promise<boolean | undefined> {
  const heads = await Promise.all(
    (await listLanesOfAccount(database, '')).map((lane) => findHead(database, { account: '', lane })),
  );
  const found = heads.filter((head) => head !== undefined);
  await journalKey.refresh();
  return found.length === 0 ? undefined : found.every((head) => isHeadSealValid(journalKey, head, head.seal));
}
