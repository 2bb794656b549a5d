-- The books of the simulator. They hold nothing of a card. Amounts are digits of minor units, which can have more of them
-- than an integer column. The caller's keys ascend with time, so that rows and their index grow at the end.

create table simulator_payments (
  account text not null,
  environment text not null,
  key text not null,
  reference text not null,
  verdict text not null,
  reason text,
  amount text not null,
  currency text not null,
  sale integer not null,
  captured text,
  refunded text not null,
  undone integer not null,
  -- Words, separated by blanks, of what goes wrong later.
  behaviour text,
  news_at bigint,
  created_at bigint not null,
  revision integer not null,
  primary key (account, environment, key)
);
create index simulator_payments_by_news on simulator_payments (news_at) where news_at is not null;

-- Captures, refunds and voids, refused ones too.
create table simulator_movements (
  account text not null,
  environment text not null,
  key text not null,
  reference text not null,
  payment text not null,
  move text not null,
  amount text not null,
  currency text not null,
  verdict text not null,
  reason text,
  primary key (account, environment, key)
);
