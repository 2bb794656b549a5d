import type { Row } from '../storage/database.ts';
import { type Check, faultsOr, ok, problem, warning } from './check.ts';

/** Rules about the settings of the database. */

const NAME = 'database';

/** One row with the settings of a PostgreSQL server, as `checkPostgres` reads them. */
export const POSTGRES_FACTS = `select current_setting('server_version_num')::int as version,
  current_setting('server_version') as release, current_setting('server_encoding') as encoding,
  current_setting('fsync') as fsync, current_setting('full_page_writes') as full_page_writes,
  (select reset_val from pg_settings where name = 'synchronous_commit') as synchronous_commit,
  current_setting('data_checksums') as data_checksums, current_setting('log_statement') as log_statement,
  current_setting('log_parameter_max_length_on_error') as logged_parameters,
  current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as connections,
  coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false)::text as tls,
  (select rolsuper from pg_roles where rolname = current_user)::text as superuser,
  (extract(epoch from clock_timestamp()) * 1000)::bigint as now`;

/** The server as the settings of cardvault use it. */
export interface PostgresUse {
  /** Connections that one process of the service opens at most. */
  readonly connections: number;
  /** True when the connections stay on this machine. */
  readonly isLocal: boolean;
  /** True when the certificate of the server is verified. */
  readonly isVerified: boolean;
}

const OLDEST_VERSION = 140_000;

/** `facts`: the row of `POSTGRES_FACTS`. */
export function checkPostgres(facts: Row, use: PostgresUse): readonly Check[] {
  const faults = [...checkDurability(facts), ...checkServer(facts), ...checkAccess(facts, use)];
  return faultsOr(faults, ok(NAME, `PostgreSQL ${facts['release']} has suitable settings`));
}

function checkDurability(facts: Row): Check[] {
  const faults = ['fsync', 'full_page_writes']
    .filter((setting) => facts[setting] !== 'on')
    .map((setting) =>
      problem(NAME, `${setting} is off: a crash of the server loses or damages data`, `set ${setting} = on`),
    );
  const commit = String(facts['synchronous_commit']);
  if (commit === 'off' || commit === 'local' || commit === 'remote_write')
    faults.push(
      warning(
        NAME,
        `synchronous_commit is ${commit}; the service raises it for itself`,
        'set synchronous_commit = on, so that no other client of the database weakens it',
      ),
    );
  if (facts['data_checksums'] !== 'on')
    faults.push(
      warning(NAME, 'pages have no checksums', 'enable them: pg_checksums --enable, while the server is stopped'),
    );
  return faults;
}

function checkServer(facts: Row): Check[] {
  const faults: Check[] = [];
  if (Number(facts['version']) < OLDEST_VERSION)
    faults.push(problem(NAME, `PostgreSQL ${facts['release']} is too old`, 'upgrade it to 14 or newer'));
  if (facts['encoding'] !== 'UTF8')
    faults.push(problem(NAME, `the encoding is ${facts['encoding']}`, 'create the database with encoding UTF8'));
  if (facts['log_statement'] !== 'none')
    faults.push(
      warning(
        NAME,
        `log_statement is ${facts['log_statement']}: the log of the server grows with each statement`,
        'set log_statement = none',
      ),
    );
  if (Number(facts['logged_parameters']) !== 0)
    faults.push(
      problem(NAME, 'the server logs the parameters of failed statements', 'set log_parameter_max_length_on_error = 0'),
    );
  return faults;
}

function checkAccess(facts: Row, { connections, isLocal, isVerified }: PostgresUse): Check[] {
  const faults: Check[] = [];
  if (!isLocal && facts['tls'] !== 'true')
    faults.push(problem(NAME, 'the connection is not encrypted', 'remove sslmode from CARDVAULT_DATABASE_URL'));
  else if (!isLocal && !isVerified)
    faults.push(
      problem(
        NAME,
        'the certificate of the server is not verified',
        'use sslmode=verify-full, with sslrootcert for an authority of your own',
      ),
    );
  if (facts['superuser'] === 'true')
    faults.push(
      warning(
        NAME,
        'the service uses a superuser, who can change everything on the server',
        'give it a role of its own, see docs/operations.md#a-service-that-cannot-change-the-audit-log',
      ),
    );
  const allowed = Number(facts['connections']);
  if (connections > allowed)
    faults.push(
      problem(
        NAME,
        `one node opens up to ${connections} connections, and the server allows ${allowed}`,
        'raise max_connections, or lower CARDVAULT_DATABASE_WRITERS and CARDVAULT_DATABASE_READERS',
      ),
    );
  else if (connections * 2 > allowed)
    faults.push(
      warning(
        NAME,
        `one node opens up to ${connections} connections, and the server allows ${allowed}`,
        'raise max_connections before a second node starts, or is upgraded beside this one',
      ),
    );
  return faults;
}

/** `journalMode`: of the file; `logBytes`: size of its write-ahead log. */
export function checkSqlite(journalMode: string, logBytes: number): readonly Check[] {
  const faults: Check[] = [];
  if (journalMode !== 'wal')
    faults.push(
      problem(
        NAME,
        `the journal mode of the file is ${journalMode}, which another program has set`,
        'start the service, which sets it to wal',
      ),
    );
  if (logBytes > LARGE_LOG_BYTES)
    faults.push(
      warning(
        NAME,
        `the write-ahead log has ${Math.round(logBytes / 2 ** 20)} MiB`,
        'find the process that keeps a read of the database open, such as a program that copies it',
      ),
    );
  return faultsOr(faults, ok(NAME, 'the file is in the mode that the service uses'));
}

const LARGE_LOG_BYTES = 2 ** 30;

/** `present` and `known`: versions of the schema in the database, and of this program. */
export function checkSchema(present: number, known: number): Check {
  const name = 'schema';
  if (present === known) return ok(name, `the database has schema ${present}`);
  return present > known
    ? problem(
        name,
        `the database has schema ${present}, made by a newer cardvault; this one knows ${known}`,
        'use the newer version',
      )
    : warning(
        name,
        `the database has schema ${present}, and this version ${known}`,
        'start the service, which migrates it, or: cardvault migrate',
      );
}
