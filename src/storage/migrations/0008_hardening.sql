-- What protects the rows themselves: MACs over rows, anchors of the audit log, the last trusted time, periods of sensitive
-- authentication data, and the counters of sign-ins.

-- Accounts and API keys.

-- mac: keyed, over all other columns of the row; a row without one counts as altered.
alter table accounts drop column production_by_two;
-- Whether changes in production need the approval of a second person.
alter table accounts add column dual_control integer not null default 0;
alter table accounts add column revision integer not null default 1;
alter table accounts add column mac blob;
alter table enablements add column mac blob;

-- Rows that were found altered. row_key: the columns of the key behind the account. state: keyed digest of what the row holds,
-- so that each state is recorded once in the audit log.
create table altered_rows (
  account text not null,
  table_name text not null,
  row_key text not null,
  state blob not null,
  found_at bigint not null,
  primary key (account, table_name, row_key)
);

-- Audit log.
-- All records are in chains by account: the index of the chain that mixed them is not used.
drop index journal_by_mixed_sequence;

-- One row, of the account ''. lanes: every lane of the journal with its first record, as JSON; seal: its MAC under the key
-- of the journal.
create table lane_register (
  account text not null primary key,
  lanes text not null,
  seal blob not null
);

-- The newest record of each chain that the periodic verification found in order, under a MAC.
create table verified_heads (
  account text not null,
  lane integer not null,
  sequence bigint not null,
  hash text not null,
  seal blob not null,
  primary key (account, lane)
);

-- The newest verifications, by their kind, under a MAC. fault: empty when the log was in order.
create table verifications (
  kind text not null primary key,
  at bigint not null,
  succeeded_at bigint not null,
  records bigint not null,
  fault text not null,
  seal blob not null
);

-- Approvals and processor settings.

create table account_notices (
  account text not null,
  environment text not null,
  kind text not null,
  at bigint not null,
  primary key (account, environment, kind)
);

-- Clock.
-- name: 'trusted', the last trusted time; 'distrust', what a node finds wrong; 'confirmed', the time that an operator
-- confirmed last. mac: over name and record, so that a change in the database is found.
create table clock_records (
  name text not null primary key,
  record text not null,
  mac blob not null
);

-- Sensitive authentication data.
-- Keys of periods of expiry, over PostgreSQL alone: with SQLite they are in files of their own beside the database. Dumps and
-- backups have to leave this table out.
create table sad_keys (
  id text not null primary key,
  environment text not null,
  period bigint not null,
  wrapped blob not null,
  closed_at bigint
);
create unique index sad_keys_open on sad_keys (environment, period) where closed_at is null;
alter table captures rename column sensitive to sad;
-- sad_key: the id of the key that sealed sad, so that a key without captures is found.
alter table captures add column sad_key text;
create index captures_by_sad_key on captures (sad_key) where sad_key is not null;
-- What was sealed under keys that stand in the backups.
update captures set sad = null;

-- Users.
-- seen_seal: MAC over seen_at, which every call may move without sealing the record again.
alter table sessions add column seen_seal blob;
-- What decides whether a user may try to sign in. record: sealed, bound to all columns; networks and browsers with their
-- failures, and the count of wrong second factors. Every user has a row: sign-ins without it are refused.
create table sign_in_states (
  person text not null primary key,
  record blob not null,
  last_sign_in_at bigint not null,
  password_blocked_at bigint,
  disabled_at bigint
);
create index sign_in_states_by_last_sign_in on sign_in_states (last_sign_in_at) where disabled_at is null;
alter table people drop column failures;
alter table people drop column locked_until;
