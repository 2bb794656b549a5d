import { type AuditAction, auditEntry, type Origin } from '../audit/audit.ts';
import type { Keyring } from '../crypto/keyring.ts';
import { keyFingerprint } from '../crypto/rsa-keys.ts';
import { type Clock, MINUTE } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { OperatorError } from '../kernel/operator-error.ts';
import type { Database } from '../storage/database.ts';
import { Remembered } from '../storage/remembered.ts';
import { type Configuration, certificateFingerprint, EMPTY } from './configuration.ts';
import {
  type CertificateEnd,
  certificateEnds,
  findConfiguration,
  findRevision,
  putConfiguration,
  type StoredConfiguration,
} from './configuration-store.ts';
import { replaceMerchantKey, replaceProcessorKey } from './replace-keys.ts';
import { type GivenSettings, mergeSettings } from './settings.ts';

/** What the operator changes; what is absent stays. Files as they are on disk. */
export interface Changes {
  readonly processorPublicKey?: Uint8Array | undefined;
  readonly merchantPrivateKey?: Uint8Array | undefined;
  readonly passphrase?: string | undefined;
  readonly merchantCertificate?: Uint8Array | undefined;
  /** An empty value removes. */
  readonly settings: GivenSettings;
  /** How long what is in use stays in use beside a new key or certificate. */
  readonly overlapMinutes: number;
}

/** A request of the operator that cannot be carried out. */
class ProxyError extends OperatorError {
  override readonly name = 'ProxyError';
}

type Detail = Readonly<Record<string, string | number | readonly string[]>>;

/** Of what is entered: SHA-256, hexadecimal. */
interface Fingerprints {
  readonly processor_public_key?: string;
  readonly merchant_private_key?: string;
  readonly merchant_certificate?: string;
}

/** What becomes of changes; nothing of it is stored yet. */
interface Planned {
  readonly configuration: Configuration;
  readonly fingerprints: Fingerprints;
}

type Found = StoredConfiguration | undefined;

/** Keys, certificates and settings of the proxy: checked at entry, stored sealed, replaced with an overlap. */
export class Configurations {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #clock: Clock;
  readonly #remembered: Remembered<Found>;

  constructor(options: { database: Database; keyring: Keyring; clock: Clock }) {
    this.#database = options.database;
    this.#keyring = options.keyring;
    this.#clock = options.clock;
    this.#remembered = new Remembered(options.clock, (found) => found !== undefined);
  }

  /** As it is at most 2 seconds later than changed; keys are parsed once for each change. */
  async remembered(tenant: Tenant): Promise<Configuration> {
    const found = await this.#remembered.get(tenant, (before) => this.#newer(tenant, before));
    return found?.configuration ?? EMPTY;
  }

  async get(tenant: Tenant): Promise<Configuration> {
    return (await findConfiguration(this.#database, this.#keyring, tenant))?.configuration ?? EMPTY;
  }

  /** Throws `KeyFault`, `SettingError` or another error for the operator; then nothing has changed. */
  async configure(tenant: Tenant, changes: Changes, origin: Origin): Promise<Configuration> {
    const stored = await findConfiguration(this.#database, this.#keyring, tenant);
    const { configuration, fingerprints } = await this.#planned(tenant, stored, changes);
    const detail: Detail = {
      ...fingerprints,
      // Values may be secret.
      settings: Object.keys(changes.settings),
      overlap_minutes: changes.overlapMinutes,
    };
    await this.#put(tenant, configuration, stored?.revision, { action: 'proxy.configured', detail }, origin);
    return configuration;
  }

  /**
   * The fingerprints of the keys and certificate that `configure` would enter, for whoever is to agree. That of a
   * certificate made here is not there: each time another one is made. Throws what `configure` throws.
   */
  async preview(tenant: Tenant, changes: Changes): Promise<Fingerprints> {
    const stored = await findConfiguration(this.#database, this.#keyring, tenant);
    const { merchant_certificate: certificate, ...keys } = (await this.#planned(tenant, stored, changes)).fingerprints;
    return changes.merchantCertificate === undefined || certificate === undefined
      ? keys
      : { ...keys, merchant_certificate: certificate };
  }

  /** Erases all keys and settings, also when they cannot be opened any more. */
  async remove(tenant: Tenant, origin: Origin): Promise<void> {
    const revision = await findRevision(this.#database, tenant);
    if (revision === undefined) throw new ProxyError('there is no such configuration');
    await this.#put(tenant, EMPTY, revision, { action: 'proxy.removed', detail: {} }, origin);
  }

  certificateEnds(): Promise<CertificateEnd[]> {
    return certificateEnds(this.#database);
  }

  async #planned(tenant: Tenant, stored: Found, changes: Changes): Promise<Planned> {
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
    const processor = processorPublicKey && replaceProcessorKey(old.processor, processorPublicKey, times);
    const merchant = entersMerchant ? await replaceMerchantKey(old.merchant, files, times) : undefined;
    const configuration: Configuration = {
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

  async #newer(tenant: Tenant, before: Promise<Found> | undefined): Promise<Found> {
    const old = await before?.catch(() => undefined);
    if (old !== undefined && old.revision === (await findRevision(this.#database, tenant))) return old;
    return findConfiguration(this.#database, this.#keyring, tenant);
  }

  async #put(
    tenant: Tenant,
    configuration: Configuration,
    old: number | undefined,
    event: { action: AuditAction; detail: Detail },
    origin: Origin,
  ): Promise<void> {
    const put = await putConfiguration(this.#keyring, tenant, configuration, old);
    const journal = [auditEntry(this.#clock, origin, { ...event, outcome: 'success', ...tenant, targets: [] })];
    const outcome = await this.#database.commit({ writes: [put], journal, erases: true });
    if (!outcome.committed) throw new ProxyError('somebody else changed this at the same moment; try again');
    this.#remembered.forget(tenant);
  }
}
