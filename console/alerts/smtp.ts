import { readFileSync } from 'node:fs';
import type { SendMailOptions } from 'nodemailer';
import { SECOND } from '../../src/kernel/clock.ts';

/** An SMTP server, as the operator configured it. */
export interface SmtpServer {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte (`smtps:`). */
  readonly isTls: boolean;
  /** False for a server on this machine: then TLS is used where the server offers it, and its certificate is not checked. */
  readonly requiresTls: boolean;
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly passwordFile: string | undefined;
  readonly from: string;
  /** Further CA, PEM. */
  readonly ca?: string;
}

export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly messageId: string;
}

/** Limit of one step, such as the greeting of the server. */
const TIMEOUT_MS = 20 * SECOND;
/** Limit of a whole mail, also with a server that keeps sending a little. */
export const SEND_DEADLINE_MS = 60 * SECOND;

/** Returns the domain of the sender, for the ids of mails. */
export const domainOf = (from: string): string =>
  from
    .split('@')
    .at(-1)
    ?.replace(/[^a-z0-9.-]/gi, '') || 'cardvault';

/** Thrown when a mail was not sent. Its message has codes of the failure, and no text of the server. */
export class MailError extends Error {
  override readonly name = 'MailError';
}

/** Sends mails by SMTP. The library is loaded with the first one. */
export class SmtpSender {
  readonly #server: SmtpServer;
  readonly #deadlineMs: number;

  constructor(server: SmtpServer, { deadlineMs = SEND_DEADLINE_MS }: { readonly deadlineMs?: number } = {}) {
    this.#server = server;
    this.#deadlineMs = deadlineMs;
  }

  /** Resolves when the server has accepted the mail. Throws `MailError`; at the deadline the connection is closed. */
  async send({ to, ...mail }: Mail): Promise<void> {
    const { host, port, isTls, requiresTls, user, from, ca } = this.#server;
    const { createTransport } = await import('nodemailer');
    try {
      const transport = createTransport({
        host,
        port,
        secure: isTls,
        requireTLS: requiresTls,
        ...(user !== undefined && { auth: { user, pass: this.#password() } }),
        tls: { minVersion: 'TLSv1.2', rejectUnauthorized: requiresTls, ...(ca !== undefined && { ca }) },
        connectionTimeout: TIMEOUT_MS,
        greetingTimeout: TIMEOUT_MS,
        socketTimeout: TIMEOUT_MS,
        disableFileAccess: true,
        disableUrlAccess: true,
      });
      try {
        const signal = AbortSignal.timeout(this.#deadlineMs);
        const message: SendMailOptions & { signal: AbortSignal } = {
          ...mail,
          from,
          to: { name: '', address: to },
          signal,
        };
        await transport.sendMail(message);
      } finally {
        transport.close();
      }
    } catch (error) {
      const { code, responseCode } = error as { code?: unknown; responseCode?: unknown };
      const codes = [code, responseCode].filter((each) => typeof each === 'string' || typeof each === 'number');
      throw new MailError(`the SMTP server did not accept a mail: ${codes.join(' ') || 'unknown'}`);
    }
  }

  /** Read for each mail, so that a new password applies without a restart. */
  #password(): string {
    const { password = '', passwordFile } = this.#server;
    return passwordFile === undefined ? password : readFileSync(passwordFile, 'utf8').trim();
  }
}
