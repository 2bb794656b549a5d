import { createHash } from 'node:crypto';
import type { Keyring } from '../../src/crypto/keyring.ts';
import { type Clock, HOUR, MINUTE } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { commitOrThrow, type Database, type Write } from '../../src/storage/database.ts';
import { listMembershipsByAccount, listMembershipsByPerson } from '../people/membership-store.ts';
import { type Person, resolveAlertMails } from '../people/person.ts';
import { findPerson } from '../people/person-store.ts';
import { can } from '../people/roles.ts';
import { findSignInState } from '../people/sign-in-state-store.ts';
import { type Alert, capabilityFor } from './alert.ts';
import {
  claimRecipient,
  countQueuedMails,
  type DueRecipient,
  deleteQueuedMails,
  listDueRecipients,
  listQueuedMails,
  type QueuedMail,
  queueMail,
  scheduleRecipient,
} from './alert-mail-store.ts';
import { listAlerts } from './alert-store.ts';
import { MAIL_TEXTS } from './mail-texts.ts';
import { domainOf, type Mail, SEND_DEADLINE_MS } from './smtp.ts';

/** A user gets at most one mail in this time; alerts that begin in between come together. */
const INTERVAL_MS = 10 * MINUTE;
/** Longer than a mail takes, so that no other node sends it concurrently. */
const CLAIM_MS = 2 * SEND_DEADLINE_MS;
/** A mail that is not begun within this time after its claim, because the database was slow, belongs to the next claim. */
const START_WITHIN_MS = SEND_DEADLINE_MS / 2;
const RETRY_MS = MINUTE;
const MAX_RETRY_MS = HOUR;
/** About nine hours, after which the alerts of the mail are dropped: the console still shows them. */
const MAX_ATTEMPTS = 14;
const MAX_RECIPIENTS_PER_ROUND = 20;
const MAX_LISTED = 50;
const ID_CHARACTERS = 40;

interface Services {
  readonly database: Database;
  readonly keyring: Keyring;
  readonly clock: Clock;
  /** Names of accounts. */
  readonly accounts: { findAuthenticName(id: string): Promise<string | undefined> };
}

interface MailOptions {
  send(mail: Mail): Promise<void>;
  /** Address of the console. */
  consoleUrl(): string;
  readonly from: string;
  /** Called when a mail was not sent. */
  onError(error: unknown): void;
}

/** True for an alert that is new, or has become severe. */
const hasRisen = (alert: Alert, before: Alert | undefined): boolean =>
  before === undefined || (alert.severity === 'high' && before.severity !== 'high');

/** Sends alerts by mail. The outbox is written in the unit of the alert, so that none is lost by a crash. */
export class AlertMails {
  readonly #services: Services;
  readonly #options: MailOptions;

  constructor(services: Services, options: MailOptions) {
    this.#services = services;
    this.#options = options;
  }

  /** Returns the writes that queue an alert for the users who want it. */
  async queue(alert: Alert | undefined, before: Alert | undefined, now: number): Promise<Write[]> {
    if (alert === undefined || !hasRisen(alert, before)) return [];
    const { database, keyring } = this.#services;
    if ((await countQueuedMails(database)) >= LIMITS.queuedMails) return [];
    const writes: Write[] = [];
    for (const { person, role } of await listMembershipsByAccount(database, keyring, alert.account)) {
      if (!can(role, capabilityFor(alert))) continue;
      const recipient = await this.#findRecipient(person);
      if (recipient !== undefined && isWanted(recipient, alert))
        writes.push(queueMail({ account: alert.account, alert: alert.id, person }, now));
    }
    return writes;
  }

  /**
   * Sends what is due, up to the first failure: a server that does not respond takes its time once, and not for each
   * recipient. Any number of nodes may call it: each mail belongs to the one that claims its recipient.
   */
  async send(): Promise<void> {
    const { database, clock } = this.#services;
    for (const recipient of await listDueRecipients(database, clock(), MAX_RECIPIENTS_PER_ROUND)) {
      const now = clock();
      const claim = await database.commit({ writes: [claimRecipient(recipient.person, now, now + CLAIM_MS)] });
      if (claim.committed && !(await this.#sendTo(recipient, now + START_WITHIN_MS))) return;
    }
  }

  /** Returns false after a failure. `startBefore`: the time from which on another node could send the mail as well. */
  async #sendTo({ person: id, attempts }: DueRecipient, startBefore: number): Promise<boolean> {
    const { database, clock } = this.#services;
    const queued = await listQueuedMails(database, id);
    const person = await this.#findRecipient(id);
    const alerts = person === undefined ? [] : await this.#listVisible(person, queued);
    if (person === undefined || alerts.length === 0) {
      await this.#finish(id, queued, clock());
      return true;
    }
    const mail = await this.#write(person, alerts, queued);
    if (clock() >= startBefore) return false;
    try {
      await this.#options.send(mail);
    } catch (error) {
      this.#options.onError(error);
      if (attempts + 1 >= MAX_ATTEMPTS) await this.#finish(id, queued, clock() + INTERVAL_MS);
      else {
        const dueAt = clock() + Math.min(RETRY_MS * 2 ** attempts, MAX_RETRY_MS);
        await commitOrThrow(database, { writes: [scheduleRecipient(id, dueAt, attempts + 1)] });
      }
      return false;
    }
    await this.#finish(id, queued, clock() + INTERVAL_MS);
    return true;
  }

  /** Undefined for a user who no longer exists, who is disabled, or whose address only the user has stated. */
  async #findRecipient(id: string): Promise<Person | undefined> {
    const { database, keyring } = this.#services;
    const state = await findSignInState(database, keyring, id);
    if (state === undefined || state.disabledAt !== undefined) return undefined;
    const person = await findPerson(database, keyring, id);
    return person?.isEmailUnconfirmed === true ? undefined : person;
  }

  #finish(person: string, queued: readonly QueuedMail[], dueAt: number): Promise<void> {
    const writes = [deleteQueuedMails(queued), scheduleRecipient(person, dueAt, 0)];
    return commitOrThrow(this.#services.database, { writes });
  }

  /** Returns the queued alerts whose causes still exist, and which the user may still see. */
  async #listVisible(person: Person, queued: readonly QueuedMail[]): Promise<Alert[]> {
    const { database, keyring } = this.#services;
    const memberships = await listMembershipsByPerson(database, keyring, person.id);
    const ids = new Set(queued.map(({ alert }) => alert));
    return (await listAlerts(database)).filter(
      (alert) =>
        ids.has(alert.id) &&
        isWanted(person, alert) &&
        memberships.some(({ account, role }) => account === alert.account && can(role, capabilityFor(alert))),
    );
  }

  async #write(person: Person, alerts: readonly Alert[], queued: readonly QueuedMail[]): Promise<Mail> {
    const { accounts } = this.#services;
    const texts = MAIL_TEXTS[person.language];
    const lines: string[] = [];
    for (const { account, environment, kind, severity } of alerts.slice(0, MAX_LISTED)) {
      const name = account === '' ? texts.service : ((await accounts.findAuthenticName(account)) ?? account);
      const where = environment === '' ? name : `${name}, ${texts.environment[environment]}`;
      lines.push(`- ${texts.severity[severity]}: ${texts.kind[kind]} (${where})`);
    }
    if (alerts.length > MAX_LISTED) lines.push(texts.more(alerts.length - MAX_LISTED));
    return {
      to: person.email,
      subject: texts.subject(alerts.length),
      text: [
        `${texts.intro}\n\n${lines.join('\n')}`,
        `${texts.link}\n${this.#options.consoleUrl()}/alerts`,
        `${texts.footer}\n`,
      ].join('\n\n'),
      messageId: `<${identify(queued)}@${domainOf(this.#options.from)}>`,
    };
  }
}

/** Returns a text that is the same for a repeat of the mail after a crash, so that a mail server can drop it, and no other. */
const identify = (queued: readonly QueuedMail[]): string =>
  createHash('sha256')
    .update(JSON.stringify(queued.map((mail) => [mail.person, mail.alert, mail.queuedAt, mail.revision])))
    .digest('hex')
    .slice(0, ID_CHARACTERS);

function isWanted(person: Person, { kind, severity }: Alert): boolean {
  const { level, muted } = resolveAlertMails(person);
  return (level === 'all' || (level === 'high' && severity === 'high')) && !muted.includes(kind);
}
