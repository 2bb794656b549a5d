import type { OperatorChange } from '../accounts/account.ts';
import { upsertOperatorNotice } from '../accounts/account-notices.ts';
import type { SummaryLine } from '../accounts/approval.ts';
import { toSummaryLines } from '../accounts/approval-summary.ts';
import type { Along, Approvals, ChangeRight, RestrictedChange } from '../accounts/approvals.ts';
import { type AuditAction, buildAuditEntry, type Origin } from '../audit/audit.ts';
import { buildSettingDetails } from '../audit/setting-details.ts';
import type { Keyring } from '../crypto/keyring.ts';
import { keyFingerprint } from '../crypto/rsa-keys.ts';
import { type Clock, MINUTE } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { Failure } from '../kernel/failure.ts';
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
import { type GivenSettings, isAuditedSetting, mergeSettings, settingsTable } from './settings.ts';

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

/** An audited change, with what has to be committed with it. */
interface Event {
  readonly action: AuditAction & OperatorChange;
  readonly detail: Detail;
  readonly right: ChangeRight;
  readonly along: Along;
}

/** The files of a change while it waits for approval, as base64; and all else of it. */
type RequestedConfiguring = Pick<Changes, 'passphrase' | 'settings' | 'overlapMinutes'> & {
  readonly files: Readonly<Partial<Record<(typeof FILES)[number], string>>>;
};

const FILES = ['processorPublicKey', 'merchantPrivateKey', 'merchantCertificate'] as const;

/** Keys, certificates and settings of the proxy: checked at entry, stored sealed, replaced with an overlap. */
export class Configurations {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #clock: Clock;
  readonly #approvals: Pick<Approvals, 'permit'>;
  readonly #remembered: Remembered<Found>;

  constructor(options: {
    database: Database;
    keyring: Keyring;
    clock: Clock;
    approvals: Pick<Approvals, 'permit'>;
  }) {
    this.#database = options.database;
    this.#keyring = options.keyring;
    this.#clock = options.clock;
    this.#approvals = options.approvals;
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

  /**
   * Throws `InvalidKeyError`, `SettingError` or another error for the operator, and `ApprovalRequired` when a member of the account has
   * to approve it first; then nothing has changed.
   */
  async configure(tenant: Tenant, changes: Changes, origin: Origin, right: ChangeRight = {}): Promise<Configuration> {
    const stored = await findConfiguration(this.#database, this.#keyring, tenant);
    const { configuration, fingerprints } = await this.#planned(tenant, stored, changes);
    const before = stored?.configuration.settings ?? {};
    const detail: Detail = {
      ...fingerprints,
      ...buildSettingDetails(Object.keys(changes.settings), before, configuration.settings, isAuditedSetting),
      overlap_minutes: changes.overlapMinutes,
    };
    const change = {
      action: 'proxy.configure',
      summary: summaryOf(fingerprints, changes),
      body: toBody(changes),
    } as const;
    const along = await this.#approvals.permit(tenant, change, origin, right);
    const event = { action: 'proxy.configured', detail, right, along } as const;
    await this.#put(tenant, configuration, stored?.revision, event, origin);
    return configuration;
  }

  /**
   * Returns what `configure` would enter, for the approver: fingerprints of keys and certificate, and settings. Throws what
   * `configure` throws.
   */
  async preview(tenant: Tenant, changes: Changes): Promise<SummaryLine[]> {
    const stored = await findConfiguration(this.#database, this.#keyring, tenant);
    return summaryOf((await this.#planned(tenant, stored, changes)).fingerprints, changes);
  }

  /** Erases all keys and settings, also when they cannot be opened any more. */
  async remove(tenant: Tenant, origin: Origin, right: ChangeRight = {}): Promise<void> {
    const revision = await findRevision(this.#database, tenant);
    if (revision === undefined) throw new ProxyError('there is no such configuration');
    const change: RestrictedChange = { action: 'proxy.remove', summary: [], body: '{}' };
    const along = await this.#approvals.permit(tenant, change, origin, right);
    await this.#put(tenant, EMPTY, revision, { action: 'proxy.removed', detail: {}, right, along }, origin);
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
    { action, detail, right, along }: Event,
    origin: Origin,
  ): Promise<void> {
    const put = await putConfiguration(this.#keyring, tenant, configuration, old);
    const { consent, isMember = false } = right;
    const targets = consent === undefined ? [] : [`approval:${consent.approval.id}`];
    const entry = buildAuditEntry(this.#clock, origin, { action, detail, outcome: 'success', ...tenant, targets });
    const notices = isMember ? [] : [upsertOperatorNotice(tenant, action, this.#clock())];
    const writes = [...along.writes, put, ...notices];
    const outcome = await this.#database.commit({ writes, journal: [entry, ...along.journal], scrubAfterCommit: true });
    if (!outcome.committed && outcome.write < along.writes.length) throw new Failure('changed_meanwhile');
    if (!outcome.committed) throw new ProxyError('somebody else changed this at the same moment; try again');
    this.#remembered.forget(tenant);
  }
}

/** The fingerprint of a certificate made here is left out: each time another one is made. */
function summaryOf({ merchant_certificate: certificate, ...keys }: Fingerprints, changes: Changes): SummaryLine[] {
  const given = changes.merchantCertificate === undefined ? undefined : certificate;
  return toSummaryLines([
    ...Object.entries(keys),
    ['merchant_certificate', given],
    ...publicSettings(changes.settings),
    ['overlap_minutes', `${changes.overlapMinutes}`],
  ]);
}

/** Says of a secret only that it changes, and of any setting when it is removed. */
const publicSettings = (settings: GivenSettings): [string, string][] =>
  settingsTable(settings).flatMap(({ name, isSet, value }) => {
    if (!isSet) return [];
    return [[name, settings[name] === '' ? '(removed)' : (value ?? '(secret)')]];
  });

function toBody({ passphrase, settings, overlapMinutes, ...given }: Changes): string {
  const files = FILES.flatMap((name) => {
    const bytes = given[name];
    return bytes === undefined ? [] : [[name, Buffer.from(bytes).toString('base64')] as const];
  });
  const requested: RequestedConfiguring = { passphrase, settings, overlapMinutes, files: Object.fromEntries(files) };
  return JSON.stringify(requested);
}

/** Returns the changes of an approved request of an operator. */
export function fromRequestedBody(body: string): Changes {
  const { files, ...rest } = JSON.parse(body) as RequestedConfiguring;
  const decoded = Object.entries(files).map(([name, text]) => [name, Buffer.from(text, 'base64')] as const);
  return { ...rest, ...Object.fromEntries(decoded) };
}
