-- What several nodes over one database need to know of each other.

-- Unique only within an account, so that a database that shards can keep each account's rows on one machine. The values are
-- random or keyed digests of 128 bits and more: no two are equal.
drop index wrapped_keys_by_id;
create index wrapped_keys_by_id on wrapped_keys (id);
drop index api_keys_by_digest;
create index api_keys_by_digest on api_keys (digest);
drop index payments_by_notification;
create index payments_by_notification on payments (environment, notification) where notification is not null;

-- Who writes. groups: the number of the last group of units that a writer committed; epoch: that of the connection it has
-- now. Both are part of every group. So a writer whose connection broke while a group was on its way learns whether that
-- was committed, and once it has asked, what still comes by the old connection is refused.
create table writers (
  account text not null,
  id text not null,
  epoch bigint not null,
  groups bigint not null,
  seen_at bigint not null,
  primary key (account, id)
);

-- Work that one node at a time does for all. Whoever holds it renews it; when it is not renewed, another takes it.
create table leases (
  name text not null primary key,
  owner text not null,
  expires_at bigint not null
);

-- The state of a copy of another vault into this one; at most one row.
create table copies (
  id integer not null primary key,
  source text not null,
  started_at bigint not null,
  finished_at bigint
);

-- The oldest version of the schema whose code works on this one too.
alter table schema_migrations add column oldest integer;
