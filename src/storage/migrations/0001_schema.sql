-- The first schema.
-- release: 0.1.0
--
-- Every table leads its keys with the account, so that a database that shards can place an account on one machine.
-- Exceptions are accounts themselves, tables of users (who may belong to several accounts) and tables of the service.
--
-- account is the number of the account, see accounts.number, and 0 for what belongs to the service. environment is 0 for
-- production, 1 for sandbox, 2 for the service, 3 for none. Seals, MACs and hashes contain the id and the name instead.
--
-- Text is compared and ordered by its bytes. The PostgreSQL driver creates `text` as `text collate "C"`, and `blob` as
-- `bytea`. Times are Unix times in milliseconds. Records are sealed unless a comment says otherwise.

-- Keys and service.

-- The keys of the hierarchy below the root key, wrapped. reserved counts the nonces that processes have set aside.
-- check_value identifies the key for operators. wrapped is empty from destroyed_at on.
-- The index by id is not unique across accounts: ids are random values of 64 bits.
create table wrapped_keys (
  account integer not null,
  environment integer not null,
  purpose text not null,
  version integer not null,
  id text not null,
  wrapped blob not null,
  reserved bigint not null,
  check_value text not null,
  created_at bigint not null,
  destroyed_at bigint,
  primary key (account, environment, purpose, version)
);
create index wrapped_keys_by_id on wrapped_keys (id);
create index wrapped_keys_by_destruction on wrapped_keys (destroyed_at) where destroyed_at is not null;

-- The newest rotation of each key. purpose is that of the key, or 'root'. version is the one that replaces older versions. phase is that of a
-- rotation of fingerprints, see vault/fingerprint-keys.ts.
-- position names the last row that the present pass has read, as JSON; empty at its start. resealed counts the rows that
-- were sealed again, left_over the rows of the present pass that could not be opened. due_at is when the work continues.
create table key_rotations (
  account integer not null,
  environment integer not null,
  purpose text not null,
  version integer not null,
  phase integer not null,
  started_at bigint not null,
  due_at bigint not null,
  pass_started_at bigint not null,
  pass_resealed bigint not null,
  position text not null,
  resealed bigint not null,
  left_over bigint not null,
  finished_at bigint,
  primary key (account, environment, purpose)
);
create index key_rotations_unfinished on key_rotations (due_at) where finished_at is null;

-- A node writes this row to find out whether the database can be written again.
create table heartbeat (
  id integer not null primary key,
  beats bigint not null
);

-- The connections that write groups of units over PostgreSQL. last_group is the number of the last group that was committed,
-- epoch that of the present connection; every group writes both. After a broken connection the writer learns from
-- last_group whether its group was committed, and the epoch refuses what still arrives on the old connection. schema is the
-- newest schema that the program of the writer knows: a migration that does not work beside it waits until it is gone.
create table writers (
  account integer not null,
  id text not null,
  epoch bigint not null,
  last_group bigint not null,
  last_seen_at bigint not null,
  schema integer not null,
  primary key (account, id)
);

-- Work that one node does for all of them. The owner renews its lease; an expired lease may be taken by any node.
create table leases (
  name text not null primary key,
  owner text not null,
  expires_at bigint not null
);

-- The state of a copy of another vault into this database; one row at most.
create table copies (
  id integer not null primary key,
  source text not null,
  started_at bigint not null,
  finished_at bigint
);

-- Records of the clock in clear. name is 'trusted' for the last trusted time, 'distrust' for the fault that a node finds, and
-- 'confirmed' for the time that an operator confirmed last. mac covers name and record.
create table clock_records (
  name text not null primary key,
  record text not null,
  mac blob not null
);

-- Keys of sensitive authentication data by period of expiry, used over PostgreSQL alone: with SQLite they are files beside
-- the database. Dumps and backups have to leave this table out.
create table sad_keys (
  id text not null primary key,
  environment integer not null,
  period bigint not null,
  wrapped blob not null,
  closed_at bigint
);
create unique index sad_keys_open on sad_keys (environment, period) where closed_at is null;

-- Backups that were created and verified, in clear; the audit log has the same facts under its seal. recipients is a JSON
-- list, empty for a copy without encryption. root_key is the check value of the root key that opens the backup. ended_at is
-- when the file was removed or reported as destroyed. drill_fault is empty when the last drill found no fault.
create table backups (
  id text not null primary key,
  created_at bigint not null,
  file text not null,
  bytes bigint not null,
  sha256 text not null,
  recipients text not null,
  root_key text not null,
  drilled_at bigint,
  drill_fault text,
  ended_at bigint
);

-- Audit log.

-- The journal: a chain of records for each account and lane. Records that belong to no account have the account 0.
create table journal (
  account integer not null,
  lane integer not null,
  sequence bigint not null,
  environment integer not null,
  at bigint not null,
  record text not null,
  hash text not null,
  primary key (account, lane, sequence)
);

-- The newest record of each chain. seal is a MAC under the key of the journal.
create table journal_heads (
  account integer not null,
  lane integer not null,
  sequence bigint not null,
  hash text not null,
  seal blob not null,
  primary key (account, lane)
);

-- One row, of the account 0. lanes lists every lane of the journal with its first record, as JSON; seal is its MAC under the
-- key of the journal.
create table lane_register (
  account integer not null primary key,
  lanes text not null,
  seal blob not null
);

-- Signed statements that the log contains certain heads. number counts them from 1.
create table audit_checkpoints (
  account integer not null,
  number bigint not null,
  at bigint not null,
  statement text not null,
  key_id text not null,
  signature blob not null,
  primary key (account, number)
);

-- Signed statements about the records that were removed from the beginning of the log, in parts.
create table audit_beginnings (
  account integer not null,
  part integer not null,
  statement text not null,
  key_id text not null,
  signature blob not null,
  primary key (account, part)
);

-- How far each chain was sent to a target, and how far it was reviewed.
create table audit_positions (
  account integer not null,
  lane integer not null,
  target text not null,
  sequence bigint not null,
  primary key (account, lane, target)
);

-- Findings of the daily review of the log: number events of a rule since the first one, the last one at the time at.
create table audit_findings (
  account integer not null,
  environment integer not null,
  rule text not null,
  subject text not null,
  label text not null,
  number bigint not null,
  since bigint not null,
  at bigint not null,
  primary key (account, environment, rule, subject)
);

-- The newest record of each chain that the periodic verification found intact.
create table verified_heads (
  account integer not null,
  lane integer not null,
  sequence bigint not null,
  hash text not null,
  mac blob not null,
  primary key (account, lane)
);

-- The newest verifications by kind. fault is empty when the log was intact.
create table verifications (
  kind text not null primary key,
  at bigint not null,
  succeeded_at bigint not null,
  records bigint not null,
  fault text not null,
  mac blob not null
);

-- Rows that were found altered. row_key holds the columns of the key behind the account. state is a keyed digest of what
-- the row holds, so that the audit log records each state once.
create table altered_rows (
  account text not null,
  table_name text not null,
  row_key text not null,
  state blob not null,
  found_at bigint not null,
  primary key (account, table_name, row_key)
);

-- Accounts and API keys. mac covers all other columns of its row; a row without one counts as altered.

-- number stands for the account in all other tables; accounts are never deleted, and numbers never change.
-- dual_control is 1 when changes in production need the approval of a second user.
create table accounts (
  id text not null primary key,
  number integer not null,
  name text not null,
  suspended_at bigint,
  created_at bigint not null,
  dual_control integer not null default 0,
  revision integer not null default 1,
  mac blob
);
create unique index accounts_by_number on accounts (number);

create table enablements (
  account integer not null,
  environment integer not null,
  capability text not null,
  processor text,
  enabled_at bigint not null,
  mac blob,
  primary key (account, environment, capability)
);

-- successor is the id of the key that replaces this one after a rotation. digest_version is the version of the key under which
-- the digest was made. last_used_at is not covered by the MAC.
create table api_keys (
  account integer not null,
  id text not null,
  environment integer not null,
  digest blob not null,
  digest_version integer not null,
  prefix text not null,
  name text not null,
  description text not null,
  permissions text not null,
  allow_list text not null,
  expires_at bigint,
  revoked_at bigint,
  last_used_at bigint,
  successor text,
  revision integer not null,
  mac blob not null,
  created_at bigint not null,
  primary key (account, id)
);
create index api_keys_by_digest on api_keys (digest);
create index api_keys_by_id on api_keys (id);

create index api_keys_by_expiry on api_keys (expires_at) where expires_at is not null;

-- The time of the last notice of each kind that tells an account what an operator changed.
create table account_notices (
  account integer not null,
  environment integer not null,
  kind text not null,
  at bigint not null,
  primary key (account, environment, kind)
);

-- Usage by hour. hour is the time at which the hour begins, name the name of the counter.
create table statistics (
  account integer not null,
  environment integer not null,
  hour bigint not null,
  name text not null,
  number bigint not null,
  primary key (account, environment, hour, name)
);

create index statistics_by_hour on statistics (environment, hour);

-- Requests to the API: every error, and a part of the successes, see accounts/request-log.ts. In clear, and without a MAC,
-- because nothing is decided by it. Requests without a known account have the account 0. id distinguishes requests of the same
-- millisecond. failure and reason are codes of the catalogues, field is the name of a field. repeats counts further requests
-- of the same key with the same route and error, which have no row.
create table request_log (
  account integer not null,
  environment integer not null,
  at bigint not null,
  id bigint not null,
  method text not null,
  route text not null,
  status integer not null,
  duration_us bigint not null,
  failure text,
  reason text,
  field text,
  request_id text not null,
  api_key text,
  address text not null,
  repeats bigint not null,
  primary key (account, environment, at, id)
) without rowid;
create index request_log_by_time on request_log (at, id);

-- Vault.

-- slot is the sort key of the token, see vault/slot.ts: the bytes of a UUID, or text in which all tokens of one BIN and last
-- four are adjacent. format is null for tokens that are not persistent. search holds short keyed digests of the last four and
-- first six and the beginning of the fingerprint, see vault/blind-index.ts. next_fingerprint is that under the next version of the
-- key, while it is replaced, see vault/fingerprint-keys.ts. A deleted token keeps its slot, and nothing else,
-- until it may be issued again.
--
-- The primary keys of tokens and captures are the order of lists. Rows are appended in that order, so that a write costs one
-- random page less than with rows in the order of a random key.
create table tokens (
  account integer not null,
  environment integer not null,
  created_at bigint not null,
  slot blob not null,
  scheme integer not null,
  format text,
  fingerprint blob,
  next_fingerprint blob,
  fingerprint_version integer not null,
  search blob,
  record blob,
  revision integer not null,
  deleted_at bigint,
  primary key (account, environment, created_at, slot)
) without rowid;
create unique index tokens_by_slot on tokens (account, environment, slot);
-- An index entry at a random place costs as much as the row, so a search for last four and one for a whole card
-- number share tokens_by_search, and only persistent tokens have an entry in tokens_by_format.
create unique index tokens_by_format on tokens (account, environment, fingerprint, format) where format is not null;
-- Has entries only while the key of the fingerprints is replaced.
create unique index tokens_by_next_format on tokens (account, environment, next_fingerprint, format)
  where next_fingerprint is not null and format is not null;
create index tokens_by_search on tokens (account, environment, search) where search is not null;
create index tokens_by_deletion on tokens (deleted_at) where deleted_at is not null;

-- The tags of tokens as short keyed digests.
create table token_tags (
  account integer not null,
  environment integer not null,
  tag blob not null,
  created_at bigint not null,
  slot blob not null,
  primary key (account, environment, tag, created_at, slot)
) without rowid;

-- Imports of cards. id is a keyed digest of the file, or of the name that the operator gave. batch_cards is the number of cards
-- of each batch.
create table imports (
  account integer not null,
  environment integer not null,
  id blob not null,
  batch_cards integer not null,
  started_at bigint not null,
  finished_at bigint,
  primary key (account, environment, id)
);

-- The committed batches of imports that are not finished. results has a line for each card of the batch, see
-- transfer/line-results.ts; digest is a keyed digest of the lines that were read from standard input.
create table import_batches (
  account integer not null,
  environment integer not null,
  import blob not null,
  batch integer not null,
  digest text not null,
  results text not null,
  primary key (account, environment, import, batch)
) without rowid;

-- Rules by which unused tokens end. acts_at and announced belong to a deletion that was announced; the record is bound to both.
create table retention_rules (
  account integer not null,
  environment integer not null,
  revision integer not null,
  record blob not null,
  acts_at bigint,
  announced integer,
  primary key (account, environment)
);

-- The day of the last use of tokens, for tenants with a retention rule. Times are days since 1970.
create table token_uses (
  account integer not null,
  environment integer not null,
  slot blob not null,
  used_on integer not null,
  primary key (account, environment, slot)
) without rowid;

-- sad is sealed under the key that sad_key names, so that keys without captures can be found.
create table captures (
  account integer not null,
  environment integer not null,
  id text not null,
  record blob not null,
  sad blob,
  fingerprint blob,
  fingerprint_version integer not null,
  amount bigint not null,
  currency text not null,
  created_at bigint not null,
  expires_at bigint not null,
  sad_key text,
  primary key (account, environment, created_at, id)
) without rowid;
create unique index captures_by_id on captures (account, environment, id);
create index captures_by_fingerprint on captures (account, environment, fingerprint) where fingerprint is not null;
create index captures_by_expiry on captures (expires_at);
create index captures_by_sad_key on captures (sad_key) where sad_key is not null;

-- id is a digest of method, path and Idempotency-Key, request a digest of the request. owner and lease_until are the claim of
-- the process that executes the request. bound_operation is the operation that the key stands for: such a key is not free
-- again before the operation has ended.
create table idempotency (
  account integer not null,
  environment integer not null,
  id blob not null,
  request blob not null,
  owner text,
  lease_until bigint not null,
  status integer,
  response blob,
  expires_at bigint not null,
  bound_operation text,
  primary key (account, environment, id)
);
create index idempotency_by_expiry on idempotency (expires_at);
create index idempotency_by_operation on idempotency (account, environment, bound_operation)
  where bound_operation is not null;

-- Proxy and payments.

-- Keys, certificate and settings of the payload proxy. The times in clear serve the metrics.
create table proxy_configurations (
  account integer not null,
  environment integer not null,
  revision integer not null,
  record blob not null,
  merchant_expires_at bigint,
  processor_expires_at bigint,
  primary key (account, environment)
);

-- Settings of a processor. They stay when payments are disabled, because unfinished payments have to be completed.
create table processor_configurations (
  account integer not null,
  environment integer not null,
  processor text not null,
  revision integer not null,
  record blob not null,
  primary key (account, environment, processor)
);

-- A payment and its first operation, which has the id of the payment, are one row. operation_in_progress is the operation
-- that has to end before another may begin; attempts counts its recoveries. processor_id is that of the first operation.
-- due_at is the next time recovery, a notification or expiry processes this payment. in_doubt_since is set while an outcome is
-- unknown. notification_digest is a digest of the secret in the notification address of the payment.
create table payments (
  account integer not null,
  environment integer not null,
  id text not null,
  processor text not null,
  status text not null,
  operation_in_progress text,
  processor_id text,
  record blob not null,
  revision integer not null,
  attempts integer not null,
  notification_digest blob,
  created_at bigint not null,
  due_at bigint,
  in_doubt_since bigint,
  claimed_until bigint
);
create unique index payments_by_id on payments (account, environment, id);
create index payments_by_processor on payments (account, environment, processor_id) where processor_id is not null;
create index payments_by_due on payments (due_at) where due_at is not null;
create index payments_in_doubt on payments (in_doubt_since) where in_doubt_since is not null;
create index payments_by_notification on payments (environment, notification_digest)
  where notification_digest is not null;

-- The operations of a payment after its first one.
create table payment_operations (
  account integer not null,
  environment integer not null,
  payment text not null,
  id text not null,
  type text not null,
  state text not null,
  processor_id text,
  record blob not null,
  revision integer not null,
  created_at bigint not null
);
create unique index payment_operations_by_id on payment_operations (account, environment, id);
create index payment_operations_by_payment on payment_operations (account, environment, payment);
create index payment_operations_by_processor on payment_operations (account, environment, processor_id)
  where processor_id is not null;

-- Payments that have a result, by the hour in which they began, and by their present currency, status and reason (empty
-- without one). A change of a payment changes the totals in the same unit; each writer adds to the rows of its lane. Amounts
-- are sums of minor units, which may exceed an integer column: high * 1,000,000,000 + low.
create table payment_totals (
  account integer not null,
  environment integer not null,
  hour bigint not null,
  currency text not null,
  status text not null,
  reason text not null,
  lane integer not null,
  number bigint not null,
  amount_high bigint not null,
  amount_low bigint not null,
  collected_high bigint not null,
  collected_low bigint not null,
  refunded_high bigint not null,
  refunded_low bigint not null,
  primary key (account, environment, hour, currency, status, reason, lane)
) without rowid;
create index payment_totals_by_hour on payment_totals (environment, hour);

-- The payments of the simulator, in clear: they hold nothing of a card. Amounts are decimal digits of minor units, which may
-- exceed an integer column. Operation references ascend with time, so that rows and index entries are appended.
-- triggers lists, separated by spaces, the trigger words that apply to later operations.
create table simulator_payments (
  account integer not null,
  environment integer not null,
  operation_ref text not null,
  reference text not null,
  outcome text not null,
  reason text,
  amount text not null,
  currency text not null,
  sale integer not null,
  captured text,
  refunded text not null,
  reversed integer not null,
  triggers text,
  notify_at bigint,
  created_at bigint not null,
  revision integer not null,
  primary key (account, environment, operation_ref)
);
create index simulator_payments_by_notification on simulator_payments (notify_at) where notify_at is not null;

-- Captures, refunds and voids of the simulator, refused ones included.
create table simulator_modifications (
  account integer not null,
  environment integer not null,
  operation_ref text not null,
  reference text not null,
  payment text not null,
  type text not null,
  amount text not null,
  currency text not null,
  outcome text not null,
  reason text,
  primary key (account, environment, operation_ref)
);

-- Users of the console. A user may belong to several accounts, so these tables lead with the user.

-- email is a keyed digest of the normalized address. record holds address, name, language and password hash.
create table people (
  id text not null primary key,
  email blob not null,
  record blob not null,
  revision integer not null,
  created_at bigint not null
);
create unique index people_by_email on people (email);

-- The data that decides whether a user may sign in: networks and browsers with their failures, and the count of wrong second
-- factors. record is bound to all columns. Every user has a row; sign-ins without it are denied.
create table sign_in_states (
  person text not null primary key,
  record blob not null,
  last_sign_in_at bigint not null,
  password_blocked_at bigint,
  disabled_at bigint
);
create index sign_in_states_by_last_sign_in on sign_in_states (last_sign_in_at) where disabled_at is null;

-- counter is the newest time step of a TOTP that was used, or the signature counter of a passkey.
create table factors (
  person text not null,
  id text not null,
  kind text not null,
  record blob not null,
  counter bigint not null,
  created_at bigint not null,
  last_used_at bigint,
  primary key (person, id)
);

-- mac covers the whole row, so that writing to the database grants no role. Operators have the account 0.
create table memberships (
  account integer not null,
  person text not null,
  role text not null,
  mac blob not null,
  created_at bigint not null,
  primary key (account, person)
);
create index memberships_by_person on memberships (person);

-- Filters of lists that members have named. record holds name, list and filters, which may be a reference or a tag.
create table saved_views (
  account integer not null,
  person text not null,
  id text not null,
  record blob not null,
  created_at bigint not null,
  primary key (account, person, id)
);

-- digest is a digest of the secret in the link. person is the user whose sign-in the link resets.
create table invitations (
  account integer not null,
  id text not null,
  digest blob not null,
  person text,
  record blob not null,
  created_at bigint not null,
  expires_at bigint not null,
  primary key (account, id)
);
create index invitations_by_digest on invitations (digest);

-- digest is a digest of the secret in the cookie, stage how far the sign-in is. record is bound to all columns but
-- last_active_at, which changes with every call and has activity_mac instead.
create table sessions (
  digest blob not null primary key,
  id text not null,
  person text not null,
  stage text not null,
  record blob not null,
  created_at bigint not null,
  last_active_at bigint not null,
  stepped_up_at bigint,
  expires_at bigint not null,
  activity_mac blob
);
create index sessions_by_person on sessions (person);
create index sessions_by_expiry on sessions (expires_at);

-- Changes in production that wait for a second user, or for their execution after one approved them. call is the request
-- that would be executed; it may be long, so it is sealed apart from the record and is the last column. It is null once the
-- approval has ended.
create table approvals (
  account integer not null,
  environment integer not null,
  id text not null,
  status text not null,
  requested_by text not null,
  decided_by text,
  record blob not null,
  created_at bigint not null,
  expires_at bigint not null,
  call blob,
  primary key (account, environment, id)
);

-- Requests of an account that an operator enable payments.
create table activation_requests (
  account integer not null,
  environment integer not null,
  id text not null,
  status text not null,
  requested_by text not null,
  decided_by text,
  record blob not null,
  created_at bigint not null,
  decided_at bigint,
  primary key (account, environment, id)
);
create index activation_requests_waiting on activation_requests (created_at) where status = 'requested';

-- Causes of alerts that exist now; a row is deleted when its cause ends. Alerts of the service have the account 0. subject
-- tells several of a kind apart, label is what the sentence names. since is when the cause began.
create table alerts (
  account integer not null,
  environment integer not null,
  kind text not null,
  subject text not null,
  id text not null,
  label text not null,
  severity text not null,
  number bigint not null,
  expires_at bigint,
  since bigint not null,
  primary key (account, environment, kind, subject)
);

-- Alerts that a user has marked as seen.
create table seen_alerts (
  account integer not null,
  alert text not null,
  person text not null,
  primary key (account, alert, person)
);

-- The outbox of mails: alerts that were not sent to a user yet. revision increases when the alert becomes severe meanwhile.
create table alert_mails (
  account integer not null,
  alert text not null,
  person text not null,
  queued_at bigint not null,
  revision integer not null,
  primary key (account, alert, person)
);

-- The outbox of mails to a user about their own sign-in. record is sealed: address, language, and the code of a confirmation.
create table person_mails (
  person text not null,
  id text not null,
  record blob not null,
  queued_at bigint not null,
  due_at bigint not null,
  attempts integer not null,
  primary key (person, id)
);

-- When a user gets the next mail, and the failures since the last one. A node that sends moves due_at first.
create table mail_schedules (
  person text not null primary key,
  due_at bigint not null,
  attempts integer not null
);

-- Webhooks.

-- Endpoints: url, selected types, secrets and the reason why one is disabled are in the record. The last attempt and the
-- last success are changed by each delivery, and decide nothing but when a failing endpoint is disabled.
create table webhook_endpoints (
  account integer not null,
  environment integer not null,
  id text not null,
  revision integer not null,
  record blob not null,
  created_at bigint not null,
  last_attempt_at bigint,
  last_status integer,
  last_error text,
  last_success_at bigint,
  trials integer not null,
  trials_since bigint not null,
  primary key (account, environment, id)
);

-- The body of each event, as it is sent, is in the record.
create table webhook_events (
  account integer not null,
  environment integer not null,
  id text not null,
  type text not null,
  record blob not null,
  created_at bigint not null,
  primary key (account, environment, id)
);
create index webhook_events_by_time on webhook_events (created_at);

-- One event for one endpoint. next_attempt_at is null unless the delivery waits; a node moves it forward while it sends, so
-- that another one continues when this node ends.
create table webhook_deliveries (
  account integer not null,
  environment integer not null,
  endpoint text not null,
  event text not null,
  status text not null,
  attempts integer not null,
  step integer not null,
  first_attempt_at bigint,
  last_attempt_at bigint,
  last_status integer,
  last_error text,
  next_attempt_at bigint,
  primary key (account, environment, endpoint, event)
);
create index webhook_deliveries_due on webhook_deliveries (account, environment, endpoint, next_attempt_at)
  where next_attempt_at is not null;
create index webhook_deliveries_failed on webhook_deliveries (account, environment, endpoint, event)
  where status = 'failed';
create index webhook_deliveries_by_event on webhook_deliveries (account, environment, event);

-- Dates at which keys and certificates expire, when they were first seen, and the mark before the date that was reported last.
create table webhook_expiries (
  account integer not null,
  environment integer not null,
  subject text not null,
  expires_at bigint not null,
  seen_at bigint not null,
  told_at bigint,
  primary key (account, environment, subject, expires_at)
);
create index webhook_expiries_by_time on webhook_expiries (expires_at);

-- Sessions that take one card from the card form. secret is a digest, and bound to the record. The settings are in the record; result has what
-- a completed session made, and attempt the submission that completed it.
create table capture_sessions (
  account integer not null,
  environment integer not null,
  id text not null,
  status text not null,
  record blob not null,
  secret blob not null,
  attempts integer not null,
  created_at bigint not null,
  expires_at bigint not null,
  ended_at bigint,
  attempt text,
  result blob,
  primary key (account, environment, id)
);
create index capture_sessions_by_id on capture_sessions (id);
create index capture_sessions_by_creation on capture_sessions (account, environment, created_at, id);
create index capture_sessions_by_expiry on capture_sessions (expires_at);
