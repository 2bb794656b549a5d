-- Every table leads its keys with the account, so that a database that shards can place an account on one machine.
--
-- Text is compared and ordered by its bytes. A PostgreSQL driver creates `text` as `text collate "C"`, and `blob` as
-- `bytea`.
--
-- tokens and captures have a unique index and no primary key: so their rows lie in the order of their arrival, at the end
-- of the table, and a write costs one random page less than with rows in the order of a random key.

create table wrapped_keys (
  account text not null,
  environment text not null,
  purpose text not null,
  version integer not null,
  id text not null,
  wrapped blob not null,
  reserved bigint not null,
  created_at bigint not null,
  primary key (account, environment, purpose, version)
);
create unique index wrapped_keys_by_id on wrapped_keys (id);

create table accounts (
  id text not null primary key,
  name text not null,
  suspended_at bigint,
  created_at bigint not null
);

create table enablements (
  account text not null,
  environment text not null,
  capability text not null,
  processor text,
  enabled_at bigint not null,
  primary key (account, environment, capability)
);

create table api_keys (
  account text not null,
  id text not null,
  environment text not null,
  digest blob not null,
  prefix text not null,
  name text not null,
  description text not null,
  permissions text not null,
  allow_list text not null,
  expires_at bigint,
  revoked_at bigint,
  last_used_at bigint,
  -- The key that replaces this one, once it was rotated.
  successor text,
  revision integer not null,
  -- Keyed, over all that decides what the key may do.
  seal blob not null,
  created_at bigint not null,
  primary key (account, id)
);
create unique index api_keys_by_digest on api_keys (digest);
create index api_keys_by_id on api_keys (id);

-- slot: the token rearranged so that all tokens of one BIN and last four stand together, see vault/slot.ts.
-- form: the format of a persistent token; null in others.
-- A deleted token keeps its slot, and nothing else, until it may be issued again.
create table tokens (
  account text not null,
  environment text not null,
  slot text not null,
  scheme integer not null,
  fingerprint blob,
  fingerprint_version integer not null,
  form text,
  record blob,
  revision integer not null,
  created_at bigint not null,
  deleted_at bigint
);
create unique index tokens_by_slot on tokens (account, environment, slot);
-- Random index entries cost as much as the row itself, so only what is looked up by card number has one: persistent
-- tokens, and those whose slot does not hold the first six and last four of their card.
create unique index tokens_by_form on tokens (account, environment, fingerprint, form) where form is not null;
create index tokens_without_bin on tokens (account, environment, fingerprint) where scheme = 7;
create index tokens_by_deletion on tokens (deleted_at) where deleted_at is not null;

create table captures (
  account text not null,
  environment text not null,
  id text not null,
  record blob not null,
  sensitive blob,
  fingerprint blob,
  fingerprint_version integer not null,
  amount bigint not null,
  currency text not null,
  created_at bigint not null,
  expires_at bigint not null
);
create unique index captures_by_id on captures (account, environment, id);
create index captures_by_fingerprint on captures (account, environment, fingerprint) where fingerprint is not null;
create index captures_by_expiry on captures (expires_at);

create table idempotency (
  account text not null,
  environment text not null,
  id blob not null,
  request blob not null,
  owner text,
  lease_until bigint not null,
  status integer,
  answer blob,
  expires_at bigint not null,
  primary key (account, environment, id)
);
create index idempotency_by_expiry on idempotency (expires_at);

-- Written to find out whether the database can be written again.
create table heartbeat (
  id integer not null primary key,
  beats bigint not null
);

create table journal (
  lane integer not null,
  sequence bigint not null,
  account text not null,
  environment text not null,
  at bigint not null,
  record text not null,
  hash text not null,
  primary key (lane, sequence)
);

create table journal_heads (
  lane integer not null primary key,
  sequence bigint not null,
  hash text not null,
  seal blob not null
);
