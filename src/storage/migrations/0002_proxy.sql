-- Keys, certificate and settings of the proxy, sealed. The times in clear are for the metrics.
create table proxy_configurations (
  account text not null,
  environment text not null,
  revision integer not null,
  record blob not null,
  merchant_expires_at bigint,
  processor_expires_at bigint,
  primary key (account, environment)
);
