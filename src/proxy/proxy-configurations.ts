import type { OperatorChange } from '../accounts/account.ts';
import { upsertOperatorNotice } from '../accounts/account-notices.ts';
import {
  type ChangeControl,
  type ChangeRight,
  type RestrictedChange,
  type SummaryLine,
  toSummaryLines,
} from '../accounts/change-control.ts';
import type { AuditAction } from '../audit/audit.ts';
import { buildSettingDetails } from '../audit/setting-details.ts';
import type { Keyring } from '../crypto/keyring.ts';
import { keyFingerprint } from '../crypto/rsa-keys.ts';
import type { Transaction } from '../idempotency/transaction.ts';
import { type Clock, MINUTE } from '../kernel/clock.ts';
import { type Tenant, tenantKey } from '../kernel/environment.ts';
import { notPossible } from '../kernel/failure.ts';
import { Cache, MAX_CACHED_TENANTS, SETTINGS_TTL_MS } from '../storage/cache.ts';
import type { Database } from '../storage/database.ts';
import { rotateMerchantKey, rotateProcessorKey } from './key-rotation.ts';
import { certificateFingerprint, EMPTY, type ProxyConfiguration } from './proxy-configuration.ts';
import {
  type CertificateExpiry,
  findConfiguration,
  findRevision,
  listCertificateExpiries,
  type StoredConfiguration,
  upsertConfiguration,
} from './proxy-configuration-store.ts';
import { type ConfiguredSettings, isAuditedSetting, listSettings, mergeSettings } from './settings.ts';

/** The operator's changes; absent members stay unchanged. Files are given as their bytes. */
export interface ConfigurationChanges {
  readonly processorPublicKey?: Uint8Array | undefined;
  readonly merchantPrivateKey?: Uint8Array | undefined;
  readonly passphrase?: string | undefined;
  readonly merchantCertificate?: Uint8Array | undefined;
  /** An empty value removes the setting. */
  readonly settings: ConfiguredSettings;
  /** How long the active key or certificate remains valid beside a new one. */
  readonly overlapMinutes: number;
}

type AuditDetail = Readonly<Record<string, string | number | readonly string[]>>;

/** SHA-256 of each given value, hexadecimal. */
interface Fingerprints {
  readonly processor_public_key?: string;
  readonly merchant_private_key?: string;
  readonly merchant_certificate?: string;
}

/** The result of changes; nothing of it is stored yet. */
interface ConfigurationPlan {
  readonly configuration: ProxyConfiguration;
  readonly fingerprints: Fingerprints;
}

type FoundConfiguration = StoredConfiguration | undefined;

/** An audited change. */
interface ConfigurationEvent {
  readonly action: AuditAction & OperatorChange;
  readonly detail: AuditDetail;
  readonly right: ChangeRight;
}

/** The encoding of a change while it awaits approval: files as base64, and the other members. */
type RequestedConfiguration = Pick<ConfigurationChanges, 'passphrase' | 'settings' | 'overlapMinutes'> & {
  readonly files: Readonly<Partial<Record<(typeof FILES)[number], string>>>;
};

const FILES = ['processorPublicKey', 'merchantPrivateKey', 'merchantCertificate'] as const;

/** Keys, certificates and settings of the proxy: checked at entry, stored sealed, replaced with an overlap. */
export class ProxyConfigurations {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #clock: Clock;
  readonly #changeControl: Pick<ChangeControl, 'permit'>;
  readonly #cache: Cache<string, FoundConfiguration>;

  constructor(options: {
    database: Database;
    keyring: Keyring;
    clock: Clock;
    changeControl: Pick<ChangeControl, 'permit'>;
  }) {
    this.#database = options.database;
    this.#keyring = options.keyring;
    this.#clock = options.clock;
    this.#changeControl = options.changeControl;
    this.#cache = new Cache({
      clock: options.clock,
      max: MAX_CACHED_TENANTS,
      ttlMs: SETTINGS_TTL_MS,
      isCacheable: (found) => found !== undefined,
    });
  }

  /** Returns the configuration, at most 2 seconds old; keys are parsed once for each change. */
  async cached(tenant: Tenant): Promise<ProxyConfiguration> {
    const found = await this.#cache.get(tenantKey(tenant), (stale) => this.#loadIfNewer(tenant, stale));
    return found?.configuration ?? EMPTY;
  }

  async get(tenant: Tenant): Promise<ProxyConfiguration> {
    return (await findConfiguration(this.#database, this.#keyring, tenant))?.configuration ?? EMPTY;
  }

  /**
   * Throws `InvalidKeyError`, `usage` or another failure for the operator, and `ApprovalRequired` when a member of
   * the account has to approve the change first; in each case the transaction is as it was.
   */
  async configure(
    transaction: Transaction,
    tenant: Tenant,
    changes: ConfigurationChanges,
    right: ChangeRight = {},
  ): Promise<ProxyConfiguration> {
    const stored = await findConfiguration(this.#database, this.#keyring, tenant);
    const { configuration, fingerprints } = await this.#plan(tenant, stored, changes);
    const before = stored?.configuration.settings ?? {};
    const detail: AuditDetail = {
      ...fingerprints,
      ...buildSettingDetails(Object.keys(changes.settings), before, configuration.settings, isAuditedSetting),
      overlap_minutes: changes.overlapMinutes,
    };
    const change = {
      action: 'proxy.configure',
      summary: toSummary(fingerprints, changes),
      body: toRequestedBody(changes),
    } as const;
    await this.#changeControl.permit(transaction, tenant, change, right);
    const event = { action: 'proxy.configured', detail, right } as const;
    await this.#put(transaction, tenant, configuration, stored?.revision, event);
    return configuration;
  }

  /**
   * Returns what `configure` would store, for the approver: fingerprints of keys and certificate, and settings. Throws
   * what `configure` throws.
   */
  async preview(tenant: Tenant, changes: ConfigurationChanges): Promise<SummaryLine[]> {
    const stored = await findConfiguration(this.#database, this.#keyring, tenant);
    return toSummary((await this.#plan(tenant, stored, changes)).fingerprints, changes);
  }

  /** Erases all keys and settings, also when they cannot be unsealed. */
  async remove(transaction: Transaction, tenant: Tenant, right: ChangeRight = {}): Promise<void> {
    const revision = await findRevision(this.#database, tenant);
    if (revision === undefined) throw notPossible('proxyNotConfigured');
    const change: RestrictedChange = { action: 'proxy.remove', summary: [], body: '{}' };
    await this.#changeControl.permit(transaction, tenant, change, right);
    await this.#put(transaction, tenant, EMPTY, revision, { action: 'proxy.removed', detail: {}, right });
  }

  listCertificateExpiries(): Promise<CertificateExpiry[]> {
    return listCertificateExpiries(this.#database);
  }

  async #plan(tenant: Tenant, stored: FoundConfiguration, changes: ConfigurationChanges): Promise<ConfigurationPlan> {
    const old = stored?.configuration ?? EMPTY;
    const now = this.#clock();
    const times = { now, from: now + changes.overlapMinutes * MINUTE };
    const { processorPublicKey, merchantPrivateKey, merchantCertificate, passphrase } = changes;
    const files = {
      privateKey: merchantPrivateKey,
      passphrase,
      certificate: merchantCertificate,
      name: tenant.account,
    };
    const entersMerchant = merchantPrivateKey !== undefined || merchantCertificate !== undefined;
    const processor = processorPublicKey && rotateProcessorKey(old.processor, processorPublicKey, times);
    const merchant = entersMerchant ? await rotateMerchantKey(old.merchant, files, times) : undefined;
    const configuration: ProxyConfiguration = {
      processor: processor?.keys ?? old.processor,
      merchant: merchant?.keys ?? old.merchant,
      settings: mergeSettings(old.settings, changes.settings),
    };
    const fingerprints: Fingerprints = {
      ...(processor && { processor_public_key: keyFingerprint(processor.entered.key) }),
      ...(merchantPrivateKey && merchant && { merchant_private_key: keyFingerprint(merchant.entered.key) }),
      ...(merchant && { merchant_certificate: certificateFingerprint(merchant.entered.certificate) }),
    };
    return { configuration, fingerprints };
  }

  async #loadIfNewer(tenant: Tenant, stale: FoundConfiguration): Promise<FoundConfiguration> {
    if (stale !== undefined && stale.revision === (await findRevision(this.#database, tenant))) return stale;
    return findConfiguration(this.#database, this.#keyring, tenant);
  }

  async #put(
    transaction: Transaction,
    tenant: Tenant,
    configuration: ProxyConfiguration,
    old: number | undefined,
    { action, detail, right: { consent, isMember = false } }: ConfigurationEvent,
  ): Promise<void> {
    const targets = consent === undefined ? [] : [`approval:${consent.approvalId}`];
    transaction.record({ action, detail, outcome: 'success', ...tenant, targets }, consent?.requester);
    const update = await upsertConfiguration(this.#keyring, tenant, configuration, old);
    transaction.write(update, notPossible('changedConcurrently'));
    if (!isMember) transaction.write(upsertOperatorNotice(tenant, action, transaction.now));
    transaction.scrub();
    transaction.afterCommit(async () => this.#cache.delete(tenantKey(tenant)));
  }
}

/** The fingerprint of a certificate that cardvault creates is left out: each call creates another one. */
function toSummary(
  { merchant_certificate: certificate, ...keys }: Fingerprints,
  changes: ConfigurationChanges,
): SummaryLine[] {
  const enteredCertificate = changes.merchantCertificate === undefined ? undefined : certificate;
  return toSummaryLines([
    ...Object.entries(keys),
    ['merchant_certificate', enteredCertificate],
    ...summarizeSettings(changes.settings),
    ['overlap_minutes', `${changes.overlapMinutes}`],
  ]);
}

/** Describes a secret only as changed, and any setting as removed. */
const summarizeSettings = (settings: ConfiguredSettings): [string, string][] =>
  listSettings(settings).flatMap(({ name, isSet, value }) => {
    if (!isSet) return [];
    return [[name, settings[name] === '' ? '(removed)' : (value ?? '(secret)')]];
  });

function toRequestedBody({ passphrase, settings, overlapMinutes, ...given }: ConfigurationChanges): string {
  const files = FILES.flatMap((name) => {
    const bytes = given[name];
    return bytes === undefined ? [] : [[name, Buffer.from(bytes).toString('base64')] as const];
  });
  const requested: RequestedConfiguration = { passphrase, settings, overlapMinutes, files: Object.fromEntries(files) };
  return JSON.stringify(requested);
}

/** Returns the changes of an approved request of an operator. */
export function fromRequestedBody(body: string): ConfigurationChanges {
  const { files, ...rest } = JSON.parse(body) as RequestedConfiguration;
  const decoded = Object.entries(files).map(([name, text]) => [name, Buffer.from(text, 'base64')] as const);
  return { ...rest, ...Object.fromEntries(decoded) };
}
