-- The journal becomes chains per account and lane, so that a database that shards can place an account's records on the
-- account's machine. Records of no account stand under the account ''.
--
-- What is here so far is one chain, lane 1, with the records of all accounts mixed. It stays as it is, its head under '',
-- and is not written again: each other lane has a chain of its own for each account.

create table chains (
  account text not null,
  lane integer not null,
  sequence bigint not null,
  environment text not null,
  at bigint not null,
  record text not null,
  hash text not null,
  primary key (account, lane, sequence)
);
insert into chains (account, lane, sequence, environment, at, record, hash)
  select account, lane, sequence, environment, at, record, hash from journal order by lane, sequence;
drop table journal;
alter table chains rename to journal;
-- The mixed chain is read in its own order, which the primary key does not give.
create index journal_by_mixed_sequence on journal (sequence) where lane = 1;

create table chain_heads (
  account text not null,
  lane integer not null,
  sequence bigint not null,
  hash text not null,
  seal blob not null,
  primary key (account, lane)
);
insert into chain_heads (account, lane, sequence, hash, seal)
  select '', lane, sequence, hash, seal from journal_heads;
drop table journal_heads;
alter table chain_heads rename to journal_heads;
