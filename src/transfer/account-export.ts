import { createHash } from 'node:crypto';
import { formatExportedRecord } from '../audit/export-format.ts';
import { exportJournal } from '../audit/verify-journal.ts';
import { listActiveCaptures, unsealCapture } from '../captures/capture-store.ts';
import type { Keyring } from '../crypto/keyring.ts';
import type { Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import { PaymentQueries } from '../payments/payment-queries.ts';
import { type Database, integer, isAlteration, type Row, text } from '../storage/database.ts';
import { readTokenPages } from '../vault/token-records.ts';
import {
  type ExportCounts,
  type ExportedKind,
  type ExportHeader,
  type ExportTrailer,
  formatAuditLine,
  formatCaptureLine,
  formatPaymentLine,
  formatTokenLine,
  formatUnreadableLine,
  newExportCounts,
} from './export-format.ts';

interface Services {
  readonly database: Database;
  readonly keyring: Keyring;
}

export interface ExportJob {
  readonly tenant: Tenant;
  readonly header: ExportHeader;
  /** Tokens, captures and payments that were created until this time are exported. */
  readonly until: number;
  /** Awaited behind each page of records. */
  pace(records: number): Promise<void>;
}

/** A line of a kind, without its end. */
type ExportedLine = readonly [kind: ExportedKind, text: string];

/** The content of an export, page by page, so that memory holds one page at a time. */
export class AccountExport {
  readonly counts: ExportCounts = newExportCounts();
  readonly #services: Services;
  readonly #job: ExportJob;
  readonly #sha256 = createHash('sha256');

  constructor(services: Services, job: ExportJob) {
    this.#services = services;
    this.#job = job;
  }

  async *content(): AsyncGenerator<Buffer> {
    yield this.#encode([JSON.stringify(this.#job.header)]);
    for (const pages of [this.#tokens(), this.#captures(), this.#payments(), this.#audit()])
      for await (const lines of pages) {
        for (const [kind] of lines) this.counts[kind]++;
        yield this.#encode(lines.map(([, line]) => line));
        await this.#job.pace(lines.length);
      }
    const trailer: ExportTrailer = { kind: 'trailer', counts: this.counts, sha256: this.#sha256.digest('hex') };
    yield Buffer.from(`${JSON.stringify(trailer)}\n`);
  }

  #encode(lines: readonly string[]): Buffer {
    const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
    this.#sha256.update(bytes);
    return bytes;
  }

  async *#tokens(): AsyncGenerator<ExportedLine[]> {
    const { tenant, until } = this.#job;
    for await (const page of readTokenPages(this.#services, tenant, until))
      yield page.map(
        ({ token, content, persistentFormat }): ExportedLine =>
          content === undefined
            ? ['unreadable', formatUnreadableLine('token', token)]
            : ['token', formatTokenLine(content, persistentFormat)],
      );
  }

  async *#captures(): AsyncGenerator<ExportedLine[]> {
    const { tenant, until } = this.#job;
    let position = { createdAt: until, id: '~' };
    for (;;) {
      const range = { from: 0, to: until + 1 };
      const limit = LIMITS.rowsPerExportPage;
      const rows = await listActiveCaptures(this.#services.database, tenant, until, range, position, limit);
      const last = rows.at(-1);
      if (last === undefined) return;
      yield await Promise.all(rows.map((row) => this.#toCaptureLine(row)));
      if (rows.length < limit) return;
      position = { createdAt: integer(last, 'created_at'), id: text(last, 'id') };
    }
  }

  async #toCaptureLine(row: Row): Promise<ExportedLine> {
    try {
      const { capture } = await unsealCapture(this.#services.keyring, this.#job.tenant, row);
      return ['capture', formatCaptureLine(capture)];
    } catch (error) {
      if (isAlteration(error)) return ['unreadable', formatUnreadableLine('capture', text(row, 'id'))];
      throw error;
    }
  }

  async *#payments(): AsyncGenerator<ExportedLine[]> {
    const { tenant, until } = this.#job;
    const queries = new PaymentQueries(this.#services);
    let cursor: string | undefined;
    do {
      const page = await queries.list(tenant, { to: until + 1, order: 'oldest' }, cursor);
      yield await Promise.all(page.items.map(({ id }) => toPaymentLine(queries, tenant, id)));
      cursor = page.cursor;
    } while (cursor !== undefined);
  }

  async *#audit(): AsyncGenerator<ExportedLine[]> {
    let page: ExportedLine[] = [];
    for await (const record of exportJournal(this.#services.database, this.#job.tenant.account)) {
      page.push(['audit', formatAuditLine(formatExportedRecord(record))]);
      if (page.length < LIMITS.rowsPerExportPage) continue;
      yield page;
      page = [];
    }
    yield page;
  }
}

async function toPaymentLine(queries: PaymentQueries, tenant: Tenant, id: string): Promise<ExportedLine> {
  try {
    return ['payment', formatPaymentLine(await queries.detail(tenant, id))];
  } catch (error) {
    if (isAlteration(error)) return ['unreadable', formatUnreadableLine('payment', id)];
    throw error;
  }
}
