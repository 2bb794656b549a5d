import { upsertOperatorNotice } from '../accounts/account-notices.ts';
import {
  listEnablements,
  removeEnablement,
  type StoredEnablement,
  upsertEnablement,
} from '../accounts/account-store.ts';
import { type ChangeControl, type Consent, type SummaryLine, toSummaryLines } from '../accounts/change-control.ts';
import { ENABLEMENTS } from '../accounts/mac-tables.ts';
import { AlteredRows } from '../audit/altered-rows.ts';
import { buildSettingDetails } from '../audit/setting-details.ts';
import type { Keyring } from '../crypto/keyring.ts';
import { UnsealError } from '../crypto/seal.ts';
import type { Transaction } from '../idempotency/transaction.ts';
import type { Clock } from '../kernel/clock.ts';
import { type Tenant, tenantKey } from '../kernel/environment.ts';
import { Failure, notPossible } from '../kernel/failure.ts';
import { explain } from '../kernel/reasons.ts';
import type { TrustedTime } from '../kernel/time-guard.ts';
import { Cache, MAX_CACHED_TENANTS, SETTINGS_TTL_MS } from '../storage/cache.ts';
import type { Database } from '../storage/database.ts';
import { rowMacKey } from '../storage/mac-table.ts';
import { findSettings, type StoredSettings, upsertSettings } from './activation-store.ts';
import type { Processor, ProcessorSettings } from './processor.ts';
import type { ProcessorHosts } from './processor-hosts.ts';
import {
  assertErasesSad,
  COMMON_SETTINGS,
  type ConfiguredSettings,
  effectiveSettings,
  isSameAccount,
  listSettings,
  mergeSettings,
  redactedSettings,
  type SettingTable,
  type SettingView,
} from './settings.ts';

/** The processors by their names in settings and commands. */
export type Processors = Readonly<Record<string, Processor>>;

/** A processor with its settings for one tenant. */
export interface ConfiguredProcessor {
  readonly name: string;
  readonly processor: Processor;
  readonly settings: ProcessorSettings;
  /** Since when the settings name the same account at the processor; Unix time in milliseconds, 0 from the beginning. */
  readonly accountSince: number;
}

interface EnableRequest {
  /** Absent: the enabled processor, or the default of the sandbox. */
  readonly processor: string | undefined;
  /** Merged into the configured settings; an empty value removes a setting. */
  readonly settings: ConfiguredSettings;
  /** Allows the simulator in production. */
  readonly force: boolean;
}

/** The processor to enable, and its settings before and after the change. */
interface EnabledSettings {
  readonly name: string;
  readonly configured: ConfiguredSettings;
  readonly stored: StoredSettings | undefined;
  /** True when a row was altered in the database, and nothing of it is used. */
  readonly replacesAltered: boolean;
}

/** Data that accompanies a change of an activation. */
interface EnableOptions {
  readonly consent?: Consent | undefined;
  /** Data of the caller, stored with the change while it awaits approval. */
  readonly attachment?: Readonly<Record<string, string>>;
}

/** The change while it awaits approval. */
export interface StoredEnableRequest extends EnableRequest {
  readonly attachment?: Readonly<Record<string, string>>;
}

/** The activation for display, without secrets. */
export interface ActivationView {
  readonly enabled: boolean;
  readonly processor: string | undefined;
  readonly settings: ConfiguredSettings;
  /**
   * True when the row was altered in the database: payments are rejected until they are enabled again, with all
   * settings.
   */
  readonly isAltered: boolean;
}

/** An activation with every setting of the processor. */
export interface ActivationSettingsView {
  readonly processor: string | undefined;
  readonly settings: SettingView[];
  readonly isAltered: boolean;
}

const CAPABILITY = 'payments';
/** True when the processor moves no money. */
export const SIMULATOR = 'simulator';

interface CachedActivation {
  readonly enabled: string | undefined;
  readonly settings: ReadonlyMap<string, Pick<ConfiguredProcessor, 'settings' | 'accountSince'>>;
  /** Processors whose settings were altered in the database. */
  readonly tampered: ReadonlySet<string>;
}

interface CurrentActivation {
  readonly processor: string | undefined;
  readonly stored: StoredSettings | undefined;
  readonly isAltered: boolean;
}

/** The processor of an account's payments, with its settings: stored sealed, valid on every node within seconds. */
export class PaymentActivations {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #processors: Processors;
  readonly #hosts: ProcessorHosts;
  readonly #changeControl: Pick<ChangeControl, 'permit'>;
  readonly #time: Pick<TrustedTime, 'steadyNow'>;
  readonly #alteredRows: AlteredRows;
  readonly #cache: Cache<string, CachedActivation>;

  constructor(options: {
    database: Database;
    keyring: Keyring;
    clock: Clock;
    /** Operations have their times from it. */
    time: Pick<TrustedTime, 'steadyNow'>;
    processors: Processors;
    hosts: ProcessorHosts;
    changeControl: Pick<ChangeControl, 'permit'>;
  }) {
    this.#database = options.database;
    this.#keyring = options.keyring;
    this.#processors = options.processors;
    this.#hosts = options.hosts;
    this.#changeControl = options.changeControl;
    this.#time = options.time;
    this.#alteredRows = new AlteredRows(options);
    this.#cache = new Cache({
      clock: options.clock,
      max: MAX_CACHED_TENANTS,
      ttlMs: SETTINGS_TTL_MS,
      isCacheable: ({ enabled }) => enabled !== undefined,
    });
  }

  /** All processors, by name. */
  get processors(): readonly string[] {
    return Object.keys(this.#processors);
  }

  /** The processor of new payments; undefined while payments are not enabled. */
  async enabledProcessor(tenant: Tenant): Promise<ConfiguredProcessor | undefined> {
    const { enabled, settings, tampered } = await this.#cached(tenant);
    // Its sealed settings prove that the operator chose it here: an attacker with write access to the database alone
    // cannot create them.
    const isSet = enabled !== undefined && (settings.has(enabled) || tampered.has(enabled));
    return isSet ? this.configuredProcessor(tenant, enabled) : undefined;
  }

  /** Returns a processor of existing payments, enabled or not. Throws `UnsealError` when its settings were altered. */
  async configuredProcessor(tenant: Tenant, name: string): Promise<ConfiguredProcessor> {
    const processor = this.#processor(name);
    const { settings, tampered } = await this.#cached(tenant);
    // Never with the defaults instead, which may send payments to another host.
    if (tampered.has(name)) throw new UnsealError();
    const known = settings.get(name);
    return known === undefined ? this.processorWithDefaults(name) : { name, processor, ...known };
  }

  /**
   * Returns a processor with default settings: sufficient to store a hint about a payment, and never used to send
   * anything.
   */
  processorWithDefaults(name: string): ConfiguredProcessor {
    const settings = effectiveSettings(this.#table(name), {});
    return { name, processor: this.#processor(name), settings, accountSince: 0 };
  }

  /**
   * Throws `usage` or another failure for the operator, and `ApprovalRequired` when a member of the account has to
   * approve it first; in each case the transaction is as it was.
   */
  async enable(
    transaction: Transaction,
    tenant: Tenant,
    request: EnableRequest,
    more: EnableOptions = {},
  ): Promise<ActivationSettingsView> {
    const present = await this.#enablement(tenant);
    const all = await findSettings(this.#database, this.#keyring, tenant);
    const name = request.processor ?? present?.processor ?? defaultOf(tenant, [...all.keys()]);
    if (name === undefined) throw notPossible('processorNeeded');
    if (name === SIMULATOR && tenant.environment === 'production' && !request.force)
      throw notPossible('simulatorInProduction');
    const table = this.#table(name);
    const stored = all.get(name);
    const given = mergeSettings(table, stored?.configured ?? {}, request.settings);
    if (tenant.environment === 'production') assertErasesSad(given);
    const conflict = this.#processor(name).conflict?.(effectiveSettings(table, given));
    if (conflict !== undefined) throw new Failure('usage', conflict, { field: 'settings' });
    this.#assertAllowedHosts(tenant, name, given);
    const replacesAltered = present?.isTampered === true || stored?.isTampered === true;
    const { attachment } = more;
    const requested: StoredEnableRequest = {
      ...request,
      processor: name,
      ...(attachment !== undefined && { attachment }),
    };
    // Settings of a processor that is not enabled now may be older than dual control: the approver reads them too.
    const isEnabled = present?.isTampered === false && present.processor === name;
    const summary = this.#summary(
      name,
      isEnabled ? request : { ...request, settings: { ...given, ...request.settings } },
    );
    const change = { action: 'payments.enable', summary, body: JSON.stringify(requested) } as const;
    await this.#changeControl.permit(transaction, tenant, change, more);
    const enabled = { name, configured: given, stored, replacesAltered, ...request };
    await this.#put(transaction, tenant, enabled, more.consent);
    return { processor: name, settings: listSettings(table, given), isAltered: false };
  }

  /** Operations in progress are still completed. */
  async disable(transaction: Transaction, tenant: Tenant, consent?: Consent): Promise<void> {
    const present = await this.#enablement(tenant);
    if (present === undefined) throw notPossible('paymentsOff');
    const summary = toSummaryLines([['processor', present.processor ?? 'unknown']]);
    const change = { action: 'payments.disable', summary, body: '{}' } as const;
    await this.#changeControl.permit(transaction, tenant, change, { consent });
    const targets = targetsOf(consent);
    const event = { action: 'payments.disabled', outcome: 'success', ...tenant, targets } as const;
    transaction.record(event, consent?.requester);
    transaction.write(removeEnablement(tenant, CAPABILITY), notPossible('paymentsOff'));
    transaction.write(upsertOperatorNotice(tenant, 'payments.disabled', transaction.now));
    transaction.scrub();
    transaction.afterCommit(async () => this.#cache.delete(tenantKey(tenant)));
  }

  async show(tenant: Tenant): Promise<ActivationView> {
    const { processor, stored, isAltered } = await this.#present(tenant);
    if (processor === undefined) return { enabled: false, processor, settings: {}, isAltered };
    const settings = redactedSettings(this.#table(processor), stored?.configured ?? {});
    return { enabled: true, processor, settings, isAltered };
  }

  /** Returns the enabled processor, with all its settings. */
  async describe(tenant: Tenant): Promise<ActivationSettingsView> {
    const { processor, stored, isAltered } = await this.#present(tenant);
    if (processor === undefined) return { processor, settings: [], isAltered };
    return { processor, settings: listSettings(this.#table(processor), stored?.configured ?? {}), isAltered };
  }

  /** Returns all settings of a processor, all unset. */
  listSettings(name: string): SettingView[] {
    return listSettings(this.#table(name), {});
  }

  /** Throws `usage`. The same check is made before each request, by the list of the node that sends it. */
  #assertAllowedHosts({ environment }: Tenant, name: string, given: ConfiguredSettings): void {
    const { productionHosts = [] } = this.#processor(name);
    for (const [setting, { destination }] of Object.entries(this.#table(name))) {
      const value = given[setting];
      if (destination !== true || value === undefined) continue;
      if (this.#hosts.isAllowed(environment, productionHosts, new URL(value))) continue;
      throw new Failure('usage', explain('hostNotAllowed', { name: setting, processor: name }), { field: 'settings' });
    }
  }

  /** Returns the lines that the approver reads. */
  #summary(name: string, { settings, force }: Pick<EnableRequest, 'settings' | 'force'>): SummaryLine[] {
    const isPublic = this.#isPublic(name);
    const shown = (setting: string, value: string): string =>
      value === '' ? '(removed)' : isPublic(setting) ? value : '(secret)';
    return toSummaryLines([
      ['processor', name],
      ...Object.entries(settings).map(([setting, value]) => [setting, shown(setting, value)] as const),
      ...(force ? [['forced', 'yes'] as const] : []),
    ]);
  }

  /** True when the value of a setting may be shown and recorded. */
  #isPublic(name: string): (setting: string) => boolean {
    const table = this.#table(name);
    return (setting) => Object.hasOwn(table, setting) && table[setting]?.secret !== true;
  }

  #processor(name: string): Processor {
    const processor = Object.hasOwn(this.#processors, name) ? this.#processors[name] : undefined;
    if (processor === undefined)
      throw notPossible('processorUnknown', { names: Object.keys(this.#processors).join(', ') });
    return processor;
  }

  /** A processor may override the default of a common setting. */
  #table(name: string): SettingTable {
    return { ...COMMON_SETTINGS, ...this.#processor(name).settings };
  }

  /** A row that was altered names no processor. */
  async #enablement(tenant: Tenant): Promise<StoredEnablement | undefined> {
    const enablements = await listEnablements(this.#database, await rowMacKey(this.#keyring), tenant);
    for (const { isTampered, row } of enablements) if (isTampered) await this.#alteredRows.report(ENABLEMENTS, row);
    return enablements.find(({ capability }) => capability === CAPABILITY);
  }

  async #present(tenant: Tenant): Promise<CurrentActivation> {
    const enablement = await this.#enablement(tenant);
    const processor = enablement?.processor;
    if (processor === undefined) return { processor, stored: undefined, isAltered: enablement?.isTampered === true };
    const stored = (await findSettings(this.#database, this.#keyring, tenant)).get(processor);
    return { processor, stored, isAltered: stored?.isTampered === true };
  }

  async #put(
    transaction: Transaction,
    tenant: Tenant,
    { name, configured: given, stored, settings, force, replacesAltered }: EnableRequest & EnabledSettings,
    consent: Consent | undefined,
  ): Promise<void> {
    const audited = buildSettingDetails(Object.keys(settings), stored?.configured ?? {}, given, this.#isPublic(name));
    const detail = {
      processor: name,
      ...audited,
      forced: force ? 'yes' : 'no',
      ...(replacesAltered && { altered: 'yes' }),
    };
    const targets = targetsOf(consent);
    const event = { action: 'payments.enabled', outcome: 'success', ...tenant, targets, detail } as const;
    const macKey = await rowMacKey(this.#keyring);
    const changed = notPossible('changedConcurrently');
    const { now } = transaction;
    const sealed = { configured: given, accountSince: this.#accountSince(name, given, stored) };
    transaction.record(event, consent?.requester);
    transaction.write(await upsertSettings(this.#keyring, tenant, name, sealed, stored?.revision), changed);
    transaction.write(upsertEnablement(macKey, tenant, { capability: CAPABILITY, processor: name }, now), changed);
    transaction.write(upsertOperatorNotice(tenant, 'payments.enabled', now));
    transaction.scrub();
    transaction.afterCommit(async () => this.#cache.delete(tenantKey(tenant)));
  }

  /** Settings that were altered may have named any account. */
  #accountSince(name: string, given: ConfiguredSettings, stored: StoredSettings | undefined): number {
    if (stored === undefined) return 0;
    const isSame = !stored.isTampered && isSameAccount(this.#table(name), stored.configured, given);
    return isSame ? stored.accountSince : this.#time.steadyNow();
  }

  #cached(tenant: Tenant): Promise<CachedActivation> {
    return this.#cache.get(tenantKey(tenant), () => this.#read(tenant));
  }

  async #read(tenant: Tenant): Promise<CachedActivation> {
    const enabled = (await this.#enablement(tenant))?.processor;
    const settings = new Map<string, Pick<ConfiguredProcessor, 'settings' | 'accountSince'>>();
    const tampered = new Set<string>();
    for (const [name, stored] of await findSettings(this.#database, this.#keyring, tenant)) {
      if (stored.isTampered) tampered.add(name);
      else {
        const { configured, accountSince } = stored;
        settings.set(name, { settings: effectiveSettings(this.#table(name), configured), accountSince });
      }
    }
    return { enabled, settings, tampered };
  }
}

/** The audit record of the change that was permitted contains the approval. */
const targetsOf = (consent: Consent | undefined): string[] =>
  consent === undefined ? [] : [`approval:${consent.approvalId}`];

/** The sandbox starts with the simulator, and does not return to it automatically. */
const defaultOf = ({ environment }: Tenant, configured: readonly string[]): string | undefined =>
  environment === 'sandbox' && configured.every((name) => name === SIMULATOR) ? SIMULATOR : undefined;
