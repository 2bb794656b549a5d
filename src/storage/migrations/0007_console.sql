-- works with: 0006
--
-- The console: people who sign in, what they ask of one another, how busy the service was, and what they look things up
-- by. A person may belong to several accounts, so what is the person's alone is led by the person.

-- email: keyed digest of the address in lower case. record: address, name, language and the hash of the password, sealed.
-- failures: wrong passwords and codes since the last sign-in.
create table people (
  id text not null primary key,
  email blob not null,
  record blob not null,
  failures integer not null,
  locked_until bigint,
  revision integer not null,
  created_at bigint not null
);
create unique index people_by_email on people (email);

-- Second factors. counter: the newest time step of a TOTP that was used, the signature counter of a passkey.
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

-- seal: keyed, over all of it, so that nobody gets a role by writing to the database. The account '' is that of operators.
create table memberships (
  account text not null,
  person text not null,
  role text not null,
  seal blob not null,
  created_at bigint not null,
  primary key (account, person)
);
create index memberships_by_person on memberships (person);

-- digest: keyed, of the secret in the link. person: whose password and second factor the link replaces.
create table invitations (
  account text not null,
  id text not null,
  digest blob not null,
  person text,
  record blob not null,
  created_at bigint not null,
  expires_at bigint not null,
  primary key (account, id)
);
create index invitations_by_digest on invitations (digest);

-- digest: keyed, of the secret in the cookie. stage: how far the sign-in is. record: sealed, bound to person and stage.
create table sessions (
  digest blob not null primary key,
  id text not null,
  person text not null,
  stage text not null,
  record blob not null,
  created_at bigint not null,
  seen_at bigint not null,
  stepped_up_at bigint,
  ends_at bigint not null
);
create index sessions_by_person on sessions (person);
create index sessions_by_end on sessions (ends_at);

-- Whether changes in production take two people; null is no.
alter table accounts add column production_by_two integer;

-- A change in production that waits for a second person, or for being carried out after one agreed. record: sealed. call:
-- what it would do, sealed apart because it may be long, and behind all else so that lists need not read it; null once over.
create table approvals (
  account text not null,
  environment text not null,
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

create table activation_requests (
  account text not null,
  environment text not null,
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

-- What was counted in an hour (milliseconds of its beginning), by name.
create table statistics (
  account text not null,
  environment text not null,
  hour bigint not null,
  name text not null,
  number bigint not null,
  primary key (account, environment, hour, name)
);

-- What a token can be found by: keyed digests of its tags, and of first six and last four where its slot does not hold them.
-- The rows lie in the order of their arrival, as those of tokens, and so do the entries of each mark: none is at a random place.
create table token_marks (
  account text not null,
  environment text not null,
  mark blob not null,
  created_at bigint not null,
  slot text not null
);
create unique index token_marks_by_mark on token_marks (account, environment, mark, created_at, slot);
-- The revision of the token that its marks are of. Older code writes tokens without marks, and leaves this as it is when it
-- changes a token: such a token gets its marks again.
alter table tokens add column marks integer;
create index tokens_without_marks on tokens (account, environment, slot)
  where (marks is null or marks <> revision) and record is not null;
create index tokens_by_creation on tokens (account, environment, created_at);
create index tokens_by_last_four on tokens (account, environment, substr(slot, 9, 4), created_at)
  where scheme <> 7 and record is not null;
create index captures_by_creation on captures (account, environment, created_at);
