import type { Keyring } from '../../src/crypto/keyring.ts';
import { type Clock, HOUR, MINUTE, SECOND } from '../../src/kernel/clock.ts';
import { commitOrThrow, type Database } from '../../src/storage/database.ts';
import { PERSON_MAIL_TEXTS } from './mail-texts.ts';
import { type DueMail, deleteMail, listDueMails, type PersonMail, scheduleMail } from './person-mail-store.ts';
import { domainOf, type Mail, SEND_DEADLINE_MS } from './smtp.ts';

/** Longer than a mail takes, so that no other node sends it meanwhile. */
const CLAIM_MS = 2 * SEND_DEADLINE_MS;
const START_WITHIN_MS = SEND_DEADLINE_MS / 2;
const RETRY_MS = 30 * SECOND;
const MAX_RETRY_MS = HOUR;
/** How long a mail is tried. */
const MAX_NOTICE_AGE_MS = 9 * HOUR;
/** A code is valid for half an hour. */
const MAX_CODE_AGE_MS = 30 * MINUTE;
const MAX_PER_ROUND = 20;

interface Services {
  readonly database: Database;
  readonly keyring: Keyring;
  readonly clock: Clock;
}

interface MailOptions {
  send(mail: Mail): Promise<void>;
  /** Address of the console. */
  consoleUrl(): string;
  readonly from: string;
  /** Called when a mail was not sent. */
  onError(error: unknown): void;
}

/** Sends the mails to users about their own sign-in. They have no text that a user could choose. */
export class PersonMails {
  readonly #services: Services;
  readonly #options: MailOptions;

  constructor(services: Services, options: MailOptions) {
    this.#services = services;
    this.#options = options;
  }

  /** Sends what is due, up to the first failure. Any number of nodes may call it: each mail belongs to the one that claims it. */
  async send(): Promise<void> {
    const { database, keyring, clock } = this.#services;
    for (const due of await listDueMails(database, keyring, clock(), MAX_PER_ROUND)) {
      const now = clock();
      const claimed = { ...due, dueAt: now + CLAIM_MS };
      const claim = await database.commit({ writes: [scheduleMail(due, claimed.dueAt, due.attempts)] });
      if (claim.committed && !(await this.#sendOne(claimed, now + START_WITHIN_MS))) return;
    }
  }

  /** Returns false after a failure. `startBefore`: the time from which on another node could send the mail as well. */
  async #sendOne(due: DueMail, startBefore: number): Promise<boolean> {
    const { database, clock } = this.#services;
    const { mail } = due;
    if (
      mail !== undefined &&
      clock() < due.queuedAt + (mail.kind === 'email-code' ? MAX_CODE_AGE_MS : MAX_NOTICE_AGE_MS)
    ) {
      if (clock() >= startBefore) return false;
      try {
        await this.#options.send(this.#write(due, mail));
      } catch (error) {
        this.#options.onError(error);
        const next = clock() + Math.min(RETRY_MS * 2 ** due.attempts, MAX_RETRY_MS);
        await database.commit({ writes: [scheduleMail(due, next, due.attempts + 1)] });
        return false;
      }
    }
    await commitOrThrow(database, { writes: [deleteMail(due)] });
    return true;
  }

  #write({ id }: DueMail, { kind, to, language, code = '' }: PersonMail): Mail {
    const { subject, text } = PERSON_MAIL_TEXTS[language][kind];
    const { from } = this.#options;
    return {
      to,
      subject,
      text: `${text(this.#options.consoleUrl(), code).join('\n\n')}\n`,
      // The same for a repeat of the mail after a crash, so that a mail server can drop it.
      messageId: `<${id}@${domainOf(from)}>`,
    };
  }
}
