-- An Idempotency-Key that stands for an operation on a payment: it is never free again before the operation has ended.
alter table idempotency add column bound text;
create index idempotency_by_bound on idempotency (account, environment, bound) where bound is not null;

-- Settings of a processor, sealed. They stay when payments are disabled, because what was begun has to be ended.
create table processor_configurations (
  account text not null,
  environment text not null,
  processor text not null,
  revision integer not null,
  record blob not null,
  primary key (account, environment, processor)
);

-- A payment and its first operation, which has the id of the payment, are one row.
-- operation: the one under way; until it has ended no other may begin.
-- processor_id: that of the first operation.
-- due_at: when the clock has to look at the payment again, for recovery, news or expiry.
-- attempts: how often that was done for the operation under way.
-- doubtful_at: since when an outcome is unknown.
-- notification: keyed digest of the secret in the address that a processor sends news to.
create table payments (
  account text not null,
  environment text not null,
  id text not null,
  processor text not null,
  status text not null,
  operation text,
  processor_id text,
  record blob not null,
  revision integer not null,
  attempts integer not null,
  notification blob,
  created_at bigint not null,
  due_at bigint,
  doubtful_at bigint
);
create unique index payments_by_id on payments (account, environment, id);
create index payments_by_processor on payments (account, environment, processor_id) where processor_id is not null;
create index payments_by_due on payments (due_at) where due_at is not null;
create index payments_by_doubt on payments (doubtful_at) where doubtful_at is not null;
create unique index payments_by_notification on payments (environment, notification) where notification is not null;

-- What was done on a payment after its first operation.
create table payment_operations (
  account text not null,
  environment text not null,
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
