import type { Transaction } from '../../src/idempotency/transaction.ts';
import { type Clock, MINUTE, type Random } from '../../src/kernel/clock.ts';
import { newId } from '../../src/kernel/ids.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { commitOrThrow, type Database, type Write } from '../../src/storage/database.ts';
import type { Membership } from '../people/membership-store.ts';
import { can } from '../people/roles.ts';
import { type Alert, capabilityFor, causeOf, type Finding } from './alert.ts';
import { SOURCES, type SourceDependencies } from './alert-sources.ts';
import { deleteAlert, listAlerts, listAlertsForPerson, markAlertSeen, upsertAlert } from './alert-store.ts';

const EVALUATE_EVERY_MS = MINUTE;
const ID_CHARACTERS = 16;

/** An alert as a user sees it. */
export interface VisibleAlert extends Alert {
  readonly isSeen: boolean;
}

interface Services {
  readonly database: Database;
  readonly clock: Clock;
  readonly random: Random;
}

/** Returns the alerts that members of these accounts may see, and marks them as seen. */
export class Alerts {
  readonly #services: Services;

  constructor(services: Services) {
    this.#services = services;
  }

  /** Alerts not seen first, then severe ones, then the newest. */
  async listFor(person: string, memberships: readonly Membership[]): Promise<VisibleAlert[]> {
    const lists = await Promise.all(
      memberships.map(async ({ account, role }) =>
        (await listAlertsForPerson(this.#services.database, account, person)).filter((alert) =>
          can(role, capabilityFor(alert)),
        ),
      ),
    );
    return lists.flat().sort(byUrgency).slice(0, LIMITS.alertsListed);
  }

  /** Marks those of the alerts that the user may see. */
  async markSeen(
    transaction: Transaction,
    person: string,
    memberships: readonly Membership[],
    ids: readonly string[],
  ): Promise<void> {
    for (const { account, id } of await this.listFor(person, memberships))
      if (ids.includes(id)) transaction.write(markAlertSeen(account, id, person));
  }
}

const byUrgency = (one: VisibleAlert, other: VisibleAlert): number =>
  Number(one.isSeen) - Number(other.isSeen) ||
  Number(one.severity !== 'high') - Number(other.severity !== 'high') ||
  other.since - one.since;

/** Returns further writes of the unit in which an alert begins, changes or ends. */
type OnChange = (alert: Alert | undefined, before: Alert | undefined, now: number) => Promise<readonly Write[]>;

/** A difference between the causes that exist and the stored alerts. */
interface AlertChange {
  /** The alert as it is from now on; undefined when its cause has ended. */
  readonly alert: Alert | undefined;
  readonly before: Alert | undefined;
}

/**
 * Compares the causes that exist with the stored alerts, once a minute. One node does it for all; two that do it at the
 * same time write the same.
 */
export class AlertEvaluation {
  readonly #services: Services;
  readonly #sources: SourceDependencies;
  readonly #onChange: OnChange | undefined;
  #evaluatedAt = Number.NEGATIVE_INFINITY;

  constructor(services: Services, sources: SourceDependencies, onChange?: OnChange) {
    this.#services = services;
    this.#sources = sources;
    this.#onChange = onChange;
  }

  async run(): Promise<void> {
    const now = this.#services.clock();
    // A clock that was set back must not stop the evaluation.
    if (now >= this.#evaluatedAt && now - this.#evaluatedAt < EVALUATE_EVERY_MS) return;
    this.#evaluatedAt = now;
    const findings: Finding[] = [];
    for (const find of SOURCES) findings.push(...(await find(this.#sources, now)));
    const changes = compare(await listAlerts(this.#services.database), findings, now, this.#services.random);
    for (const { alert, before } of changes) {
      const ofAlert = alert === undefined ? before && deleteAlert(before) : [upsertAlert(alert)];
      const more = await this.#onChange?.(alert, before, now);
      await commitOrThrow(this.#services.database, { writes: [...(ofAlert ?? []), ...(more ?? [])] });
    }
  }
}

/** Returns the alerts that begin, change or end. */
export function compare(
  stored: readonly Alert[],
  findings: readonly Finding[],
  now: number,
  random: Random,
): AlertChange[] {
  const before = new Map(stored.map((alert) => [causeOf(alert), alert]));
  const found = new Map(findings.slice(0, LIMITS.alerts).map((finding) => [causeOf(finding), finding]));
  const present = [...found].map(([cause, finding]): AlertChange => {
    const known = before.get(cause);
    const { id, since } = known ?? { id: newId('alr', ID_CHARACTERS, random), since: finding.since ?? now };
    return { before: known, alert: { ...finding, id, since } };
  });
  const ended = stored.filter((alert) => !found.has(causeOf(alert)));
  return [
    ...present.filter(({ alert, before: known }) => known === undefined || isChanged(known, alert as Alert)),
    ...ended.map((alert) => ({ alert: undefined, before: alert })),
  ];
}

const isChanged = (one: Alert, other: Alert): boolean =>
  (['label', 'severity', 'number', 'expiresAt'] as const).some((name) => one[name] !== other[name]);
