import { listEnablements, putEnablement, removeEnablement } from '../accounts/account-store.ts';
import { auditEntry, type Origin } from '../audit/audit.ts';
import type { Keyring } from '../crypto/keyring.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { Failure } from '../kernel/failure.ts';
import { OperatorError } from '../kernel/operator-error.ts';
import type { Database, Unit } from '../storage/database.ts';
import { Remembered } from '../storage/remembered.ts';
import { findSettings, putSettings, type StoredSettings } from './activation-store.ts';
import type { Processor, ProcessorSettings } from './processor.ts';
import {
  COMMON_SETTINGS,
  type GivenSettings,
  mergeSettings,
  SettingError,
  type SettingTable,
  type ShownSetting,
  settingsInForce,
  settingsTable,
  shownSettings,
} from './settings.ts';

/** By the name that the operator calls it. */
export type Processors = Readonly<Record<string, Processor>>;

/** A processor with what it needs for one tenant. */
export interface Configured {
  readonly name: string;
  readonly processor: Processor;
  readonly settings: ProcessorSettings;
}

interface Enabling {
  /** Absent: the one that is enabled, or the default of the sandbox. */
  readonly processor: string | undefined;
  /** Merged into what was set; an empty value removes. */
  readonly settings: GivenSettings;
  /** Take the simulator in production. */
  readonly force: boolean;
}

/** The processor that is enabled, and its settings as they are to be and as they were. */
interface Chosen {
  readonly name: string;
  readonly given: GivenSettings;
  readonly stored: StoredSettings | undefined;
}

type Along = Required<Pick<Unit, 'writes' | 'journal'>>;

/** For people: without secrets. */
export interface ShownActivation {
  readonly enabled: boolean;
  readonly processor: string | undefined;
  readonly settings: GivenSettings;
}

/** A request of the operator that cannot be carried out. */
class ActivationError extends OperatorError {
  override readonly name = 'ActivationError';
}

const CAPABILITY = 'payments';
/** Moves no money. */
export const SIMULATOR = 'simulator';

interface Known {
  readonly enabled: string | undefined;
  readonly settings: ReadonlyMap<string, ProcessorSettings>;
}

/** Which processor an account's payments go to, with its settings: stored sealed, in force on every node within seconds. */
export class Activations {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #clock: Clock;
  readonly #processors: Processors;
  readonly #remembered: Remembered<Known>;

  constructor(options: { database: Database; keyring: Keyring; clock: Clock; processors: Processors }) {
    this.#database = options.database;
    this.#keyring = options.keyring;
    this.#clock = options.clock;
    this.#processors = options.processors;
    this.#remembered = new Remembered(options.clock, ({ enabled }) => enabled !== undefined);
  }

  /** All that there are, by name. */
  get processors(): readonly string[] {
    return Object.keys(this.#processors);
  }

  /** Where new payments go to; undefined while payments are not enabled. */
  async enabled(tenant: Tenant): Promise<Configured | undefined> {
    const { enabled, settings } = await this.#known(tenant);
    // Its sealed settings prove that the operator chose it here: whoever can only write to the database has none to put there.
    return enabled === undefined || !settings.has(enabled) ? undefined : this.of(tenant, enabled);
  }

  /** A processor that payments were begun with, enabled or not. */
  async of(tenant: Tenant, name: string): Promise<Configured> {
    const processor = this.#processor(name);
    const { settings } = await this.#known(tenant);
    return { name, processor, settings: settings.get(name) ?? settingsInForce(this.#table(name), {}) };
  }

  /**
   * `along`: what happens with it or not at all. Throws `SettingError` or another error for the operator, and
   * `changed_meanwhile` when what goes along conflicts; then nothing has changed.
   */
  async enable(tenant: Tenant, request: Enabling, origin: Origin, along?: Along): Promise<ShownActivation> {
    const present = await this.#enabledName(tenant);
    const all = await findSettings(this.#database, this.#keyring, tenant);
    const name = request.processor ?? present ?? defaultOf(tenant, [...all.keys()]);
    if (name === undefined) throw new ActivationError('which processor? give --processor');
    if (name === SIMULATOR && tenant.environment === 'production' && !request.force)
      throw new ActivationError('the simulator moves no money; to have it in production nevertheless, add --force');
    const table = this.#table(name);
    const stored = all.get(name);
    const given = mergeSettings(table, stored?.given ?? {}, request.settings);
    const conflict = this.#processor(name).conflict?.(settingsInForce(table, given));
    if (conflict !== undefined) throw new SettingError(conflict);
    await this.#put(tenant, { name, given, stored, ...request }, origin, along);
    return { enabled: true, processor: name, settings: shownSettings(table, given) };
  }

  /** What was begun is still brought to its end. */
  async disable(tenant: Tenant, origin: Origin): Promise<ShownActivation> {
    const event = { action: 'payments.disabled', outcome: 'success', ...tenant, targets: [] } as const;
    const outcome = await this.#database.commit({
      writes: [removeEnablement(tenant, CAPABILITY)],
      journal: [auditEntry(this.#clock, origin, event)],
    });
    if (!outcome.committed) throw new ActivationError('payments are not enabled there');
    this.#remembered.forget(tenant);
    return this.show(tenant);
  }

  async show(tenant: Tenant): Promise<ShownActivation> {
    const processor = await this.#enabledName(tenant);
    if (processor === undefined) return { enabled: false, processor, settings: {} };
    const stored = (await findSettings(this.#database, this.#keyring, tenant)).get(processor);
    return { enabled: true, processor, settings: shownSettings(this.#table(processor), stored?.given ?? {}) };
  }

  /** What is enabled, with all settings that there are for it. */
  async describe(tenant: Tenant): Promise<{ processor: string | undefined; settings: ShownSetting[] }> {
    const processor = await this.#enabledName(tenant);
    if (processor === undefined) return { processor, settings: [] };
    const stored = (await findSettings(this.#database, this.#keyring, tenant)).get(processor);
    return { processor, settings: settingsTable(this.#table(processor), stored?.given ?? {}) };
  }

  /** All settings of a processor, none of them set. */
  settingsOf(name: string): ShownSetting[] {
    return settingsTable(this.#table(name), {});
  }

  #processor(name: string): Processor {
    const processor = Object.hasOwn(this.#processors, name) ? this.#processors[name] : undefined;
    if (processor === undefined)
      throw new ActivationError(`there is no such processor; there are ${Object.keys(this.#processors).join(', ')}`);
    return processor;
  }

  /** A processor may give a common setting another default. */
  #table(name: string): SettingTable {
    return { ...COMMON_SETTINGS, ...this.#processor(name).settings };
  }

  async #enabledName(tenant: Tenant): Promise<string | undefined> {
    const enablements = await listEnablements(this.#database, tenant);
    return enablements.find(({ capability }) => capability === CAPABILITY)?.processor;
  }

  async #put(
    tenant: Tenant,
    { name, given, stored, settings, force }: Enabling & Chosen,
    origin: Origin,
    along: Along = { writes: [], journal: [] },
  ): Promise<void> {
    // Values may be secret.
    const detail = { processor: name, settings: Object.keys(settings), forced: force ? 'yes' : 'no' };
    const event = { action: 'payments.enabled', outcome: 'success', ...tenant, targets: [], detail } as const;
    const outcome = await this.#database.commit({
      writes: [
        ...along.writes,
        await putSettings(this.#keyring, tenant, name, given, stored?.revision),
        putEnablement(tenant, { capability: CAPABILITY, processor: name }, this.#clock()),
      ],
      journal: [auditEntry(this.#clock, origin, event), ...along.journal],
      erases: true,
    });
    if (!outcome.committed && outcome.write < along.writes.length) throw new Failure('changed_meanwhile');
    if (!outcome.committed) throw new ActivationError('somebody else changed this at the same moment; try again');
    this.#remembered.forget(tenant);
  }

  #known(tenant: Tenant): Promise<Known> {
    return this.#remembered.get(tenant, () => this.#read(tenant));
  }

  async #read(tenant: Tenant): Promise<Known> {
    const enabled = await this.#enabledName(tenant);
    const stored = await findSettings(this.#database, this.#keyring, tenant);
    const settings = [...stored].map(([name, { given }]) => [name, settingsInForce(this.#table(name), given)] as const);
    return { enabled, settings: new Map(settings) };
  }
}

/** The sandbox begins with the simulator, and does not go back to it by itself. */
const defaultOf = ({ environment }: Tenant, configured: readonly string[]): string | undefined =>
  environment === 'sandbox' && configured.every((name) => name === SIMULATOR) ? SIMULATOR : undefined;
