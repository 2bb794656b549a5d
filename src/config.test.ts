import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { describe, it } from 'node:test';
import { type Config, ConfigError, listClientCertificates, parseConfig, SETTINGS } from './config.ts';
import { DAY, HOUR } from './kernel/clock.ts';

/** Every problem that is reported. */
function problems(variables: Record<string, string>): readonly string[] {
  try {
    parseConfig(variables);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.problems;
  }
  return assert.fail('the configuration was accepted');
}

const DEFAULTS: Config = {
  dataDirectory: resolve('data'),
  database: { kind: 'sqlite', file: resolve('data/cardvault.db') },
  isEmbedded: true,
  rootKey: {
    kind: 'file',
    file: resolve('data/root.key'),
    group: undefined,
    secretFile: undefined,
    credentialsFolder: undefined,
    token: undefined,
    kms: undefined,
    librariesFolder: undefined,
    socket: resolve('data/run/unseal.sock'),
  },
  unsealPeers: undefined,
  ports: { production: 8443, sandbox: 8444, console: 8445, cards: 8446 },
  cardForm: { origin: undefined, mayBeMissing: true, perMinute: 60 },
  consoleUrl: undefined,
  operatorName: undefined,
  hsts: 'pages',
  auditHeadsFile: undefined,
  auditCheckpointMs: 3_600_000,
  auditRetentionMs: 31_536_000_000,
  auditReceivers: { syslog: undefined, otlp: undefined, tls: { caFile: undefined, certificate: undefined } },
  hosts: [
    { address: '127.0.0.1', mayBeMissing: true },
    { address: '::1', mayBeMissing: true },
  ],
  trustedProxies: [],
  rates: { perKey: 1000, failedAuthentication: 60 },
  connectionsPerAddress: 1024,
  metricsAllow: ['127.0.0.0/8', '::1'],
  processorHosts: [],
  tlsFiles: undefined,
  tlsMaxVersion: 'TLSv1.3',
  logLevel: 'info',
  drainMs: 30_000,
  smtp: undefined,
  backupRecipients: [],
  backupKeep: 0,
  backupMaxAges: { backup: undefined, drill: undefined },
  workers: Math.min(Math.max(1, availableParallelism() - 1), 8),
  requestLogRows: 1_000_000,
  webhooks: {
    networks: [],
    delays: [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400].map((seconds) => seconds * 1000),
  },
  rotationRate: 1000,
  traces: undefined,
  keyPeriods: { rootDays: 365, wrappingDays: 365, dataDays: 365, digestDays: 365 },
};

describe('traces', () => {
  const url = 'https://collector.example:4318/v1/traces';

  it('have a collector, which is reached in clear on this machine alone', () => {
    const { traces } = parseConfig({
      CARDVAULT_TRACES_OTLP: url,
      CARDVAULT_TRACES_OTLP_HEADERS_FILE: '/etc/headers',
      CARDVAULT_TRACES_RATIO: '0.05',
    });
    assert.deepEqual(traces, { url, headersFile: '/etc/headers', caFile: undefined, ratio: 0.05 });
    assert.equal(parseConfig({ CARDVAULT_TRACES_OTLP: 'http://127.0.0.1:4318/v1/traces' }).traces?.ratio, 1);
    for (const wrong of ['http://collector.example/v1/traces', 'https://u:p@c.example/v1', 'ftp://c.example', 'x'])
      assert.match(
        problems({ CARDVAULT_TRACES_OTLP: wrong })[0] ?? '',
        /^CARDVAULT_TRACES_OTLP: expected https:/,
        wrong,
      );
    for (const wrong of ['1.5', '-1', '2', '1e-3', 'all'])
      assert.match(problems({ CARDVAULT_TRACES_RATIO: wrong })[0] ?? '', /^CARDVAULT_TRACES_RATIO: expected a number/);
  });
});

describe('defaults', () => {
  it('are those of the documentation', () => {
    assert.deepEqual(parseConfig({}), DEFAULTS);
  });

  it('replace empty variables; unrelated variables are ignored', () => {
    const empty = Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, '']));
    assert.deepEqual(parseConfig({ ...empty, PATH: '/bin', HOME: '/root', MY_CARDVAULT_X: '1' }), DEFAULTS);
    assert.deepEqual(parseConfig({ CARDVAULT_HOST: undefined as never }), DEFAULTS);
  });

  it('cannot be changed afterwards', () => {
    assert.ok(Object.isFrozen(parseConfig({})));
  });

  it('are valid values of their settings, and each setting has a description', () => {
    for (const { fallback, description: about, parse: read } of Object.values(SETTINGS)) {
      assert.doesNotThrow(() => read(fallback));
      assert.match(about, /^[A-Z]/);
    }
  });
});

describe('settings', () => {
  it('are read', () => {
    const config = parseConfig({
      CARDVAULT_DATA_DIR: '/var/lib/cardvault',
      CARDVAULT_DATABASE_URL: 'sqlite:vault.db',
      CARDVAULT_ROOT_KEY_FILE: '/etc/cardvault/root.key',
      CARDVAULT_ROOT_KEY_GROUP: 'vault-operators',
      CARDVAULT_HOST: '0.0.0.0, ::',
      CARDVAULT_PRODUCTION_PORT: '443',
      CARDVAULT_SANDBOX_PORT: '444',
      CARDVAULT_CONSOLE_PORT: '65535',
      CARDVAULT_CONSOLE_URL: 'https://console.example.com/',
      CARDVAULT_OPERATOR: 'Ana López',
      CARDVAULT_HSTS: 'subdomains',
      CARDVAULT_AUDIT_HEADS_FILE: '/audit/heads',
      CARDVAULT_AUDIT_CHECKPOINT_MINUTES: '5',
      CARDVAULT_AUDIT_RETENTION: '400d',
      CARDVAULT_TRUSTED_PROXIES: '10.0.0.0/8, 2001:DB8::1,',
      CARDVAULT_RATE_LIMIT_PER_KEY: '0',
      CARDVAULT_RATE_LIMIT_FAILED_AUTHENTICATION: '1000000',
      CARDVAULT_CONNECTIONS_PER_ADDRESS: '20000',
      CARDVAULT_METRICS_ALLOW: '::ffff:192.0.2.0/120',
      CARDVAULT_PROCESSOR_HOSTS: 'gateway.example:443, [::1]:8443,',
      CARDVAULT_TLS_CERT: '/tls/cert.pem',
      CARDVAULT_TLS_KEY: '/tls/key.pem',
      CARDVAULT_TLS_MAX_VERSION: '1.2',
      CARDVAULT_LOG_LEVEL: 'debug',
      CARDVAULT_DRAIN_SECONDS: '5',
      CARDVAULT_BACKUP_RECIPIENTS: 'age1abc, age1pq1xyz',
      CARDVAULT_BACKUP_KEEP: '14',
      CARDVAULT_BACKUP_MAX_AGE: '26',
      CARDVAULT_DRILL_MAX_AGE: '90',
      CARDVAULT_WORKERS: '1',
      CARDVAULT_REQUEST_LOG_ROWS: '0',
      CARDVAULT_CAPTURE_PORT: '445',
      CARDVAULT_CAPTURE_ORIGIN: 'https://pay.example.com',
      CARDVAULT_RATE_LIMIT_CAPTURE: '0',
      CARDVAULT_WEBHOOK_NETWORKS: '10.0.0.0/8',
      CARDVAULT_WEBHOOK_SCHEDULE: '1s,24h',
      CARDVAULT_ROTATION_RATE: '1000000',
      CARDVAULT_KEY_PERIOD_ROOT_DAYS: '0',
      CARDVAULT_KEY_PERIOD_WRAPPING_DAYS: '30',
      CARDVAULT_KEY_PERIOD_DATA_DAYS: '3650',
      CARDVAULT_KEY_PERIOD_DIGEST_DAYS: '90',
    });
    assert.deepEqual(config, {
      dataDirectory: '/var/lib/cardvault',
      database: { kind: 'sqlite', file: '/var/lib/cardvault/vault.db' },
      isEmbedded: false,
      rootKey: {
        ...DEFAULTS.rootKey,
        file: '/etc/cardvault/root.key',
        group: 'vault-operators',
        socket: '/var/lib/cardvault/run/unseal.sock',
      },
      unsealPeers: undefined,
      ports: { production: 443, sandbox: 444, console: 65_535, cards: 445 },
      cardForm: { origin: 'https://pay.example.com', mayBeMissing: false, perMinute: 0 },
      consoleUrl: 'https://console.example.com',
      operatorName: 'Ana López',
      hsts: 'subdomains',
      auditHeadsFile: '/audit/heads',
      auditCheckpointMs: 300_000,
      auditRetentionMs: 34_560_000_000,
      auditReceivers: DEFAULTS.auditReceivers,
      hosts: [
        { address: '0.0.0.0', mayBeMissing: false },
        { address: '::', mayBeMissing: false },
      ],
      trustedProxies: ['10.0.0.0/8', '2001:db8::1'],
      rates: { perKey: 0, failedAuthentication: 1_000_000 },
      connectionsPerAddress: 20_000,
      metricsAllow: ['192.0.2.0/24'],
      processorHosts: ['gateway.example:443', '[::1]:8443'],
      tlsFiles: { certificate: '/tls/cert.pem', key: '/tls/key.pem' },
      tlsMaxVersion: 'TLSv1.2',
      logLevel: 'debug',
      drainMs: 5000,
      smtp: undefined,
      backupRecipients: ['age1abc', 'age1pq1xyz'],
      backupKeep: 14,
      backupMaxAges: { backup: 26 * HOUR, drill: 90 * DAY },
      workers: 1,
      requestLogRows: 0,
      webhooks: { networks: ['10.0.0.0/8'], delays: [1000, 86_400_000] },
      rotationRate: 1_000_000,
      traces: undefined,
      keyPeriods: { rootDays: 0, wrappingDays: 30, dataDays: 3650, digestDays: 90 },
    });
  });

  it('report the number of a malformed entry of the processor hosts, and not its text', () => {
    assert.deepEqual(problems({ CARDVAULT_PROCESSOR_HOSTS: 'a.example:443,https://b.example' }), [
      'CARDVAULT_PROCESSOR_HOSTS: expected HOST:PORT as entry 2, with the port and no https://',
    ]);
  });

  it('put files into the data directory, unless the path is absolute', () => {
    const { database, rootKey } = parseConfig({ CARDVAULT_DATA_DIR: '/a', CARDVAULT_ROOT_KEY_FILE: 'k/root' });
    assert.deepEqual([database, rootKey.file], [{ kind: 'sqlite', file: '/a/cardvault.db' }, '/a/k/root']);
    const elsewhere = parseConfig({ CARDVAULT_DATABASE_URL: 'sqlite:/b/c.db' }).database;
    assert.deepEqual(elsewhere, { kind: 'sqlite', file: '/b/c.db' });
  });

  it('of PostgreSQL', () => {
    const { database, isEmbedded: embedded } = parseConfig({
      CARDVAULT_DATABASE_URL: 'postgres://me:s%3Acret@db1,[::1]:5433/vault?sslmode=verify-ca',
      CARDVAULT_DATABASE_PASSWORD_FILE: '/run/password',
      CARDVAULT_DATABASE_WRITERS: '3',
      CARDVAULT_DATABASE_READERS: '5',
      CARDVAULT_DATABASE_CONNECT_TIMEOUT_MS: '100',
      CARDVAULT_DATABASE_STATEMENT_TIMEOUT_MS: '600000',
      CARDVAULT_DATABASE_SHARDED: 'true',
      CARDVAULT_CLOCK: 'system',
    });
    assert.equal(embedded, false);
    assert.deepEqual(database, {
      kind: 'postgres',
      address: {
        hosts: [
          { host: 'db1', port: 5432 },
          { host: '::1', port: 5433 },
        ],
        database: 'vault',
        user: 'me',
        password: 's:cret',
        sslMode: 'verify-ca',
        sslRootCert: undefined,
        sslCert: undefined,
        sslKey: undefined,
      },
      passwordFile: '/run/password',
      writers: 3,
      readers: 5,
      connectTimeoutMs: 100,
      statementTimeoutMs: 600_000,
      sharded: true,
      clock: 'system',
    });
  });

  it('of listening addresses must exist on the machine', () => {
    assert.deepEqual(parseConfig({ CARDVAULT_HOST: '127.0.0.1' }).hosts, [
      { address: '127.0.0.1', mayBeMissing: false },
    ]);
  });

  it('are rejected in any other format', () => {
    const refused: [keyof typeof SETTINGS, ...string[]][] = [
      ['CARDVAULT_PRODUCTION_PORT', '65536', '-1', '8443.0', '0x10', 'https', ' 443', '1e3', 'tcp://10.0.0.1:443'],
      ['CARDVAULT_HSTS', 'all', 'Host'],
      [
        'CARDVAULT_CONSOLE_URL',
        'http://console.example.com',
        'console.example.com',
        'https://console.example.com/console',
        'https://me@console.example.com',
        'https://console.example.com:443',
        'https://Console.example.com',
        'https://console.example.com?',
        'https://',
      ],
      ['CARDVAULT_OPERATOR', 'x'.repeat(101), ' ana', 'ana ', 'a\u200bna', 'ana\n', 'ﬁona', 'card 4111 1111 1111 1111'],
      ['CARDVAULT_DRAIN_SECONDS', '601', '1.5', '30s', '-1'],
      ['CARDVAULT_BACKUP_RECIPIENTS', 'AGE-SECRET-KEY-1ABC', 'age1', 'age1abc age1xyz', 'ssh-ed25519'],
      ['CARDVAULT_BACKUP_KEEP', '-1', '100001', 'all'],
      ['CARDVAULT_BACKUP_MAX_AGE', '-1', '1d'],
      ['CARDVAULT_DRILL_MAX_AGE', '-1', '10001'],
      ['CARDVAULT_WORKERS', '0', '9', '1.5', 'all'],
      [
        'CARDVAULT_CAPTURE_ORIGIN',
        'http://a.example',
        'https://a.example/',
        'https://A.example',
        'https://a.example:443',
        'a.example',
      ],
      ['CARDVAULT_WEBHOOK_SCHEDULE', '5', '0s', '25h', '5s,'],
      ['CARDVAULT_WEBHOOK_NETWORKS', 'example.com', '10.0.0.0/33'],
      ['CARDVAULT_RATE_LIMIT_PER_KEY', '1000001', '-1', 'off'],
      ['CARDVAULT_RATE_LIMIT_FAILED_AUTHENTICATION', '1000001', 'none'],
      ['CARDVAULT_CONNECTIONS_PER_ADDRESS', '20001', '-1', 'off'],
      ['CARDVAULT_ROOT_KEY_GROUP', '-1', 'a group', 'a:b', '1e3', '../x'],
      ['CARDVAULT_HOST', 'localhost', '127.0.0.0/8', ',', '127.0.0.1;::1', '010.0.0.1', '127.1'],
      ['CARDVAULT_TRUSTED_PROXIES', 'proxy', '10.0.0.0/33', '10.0.0.1 10.0.0.2', '10.0.0.1,x'],
      ['CARDVAULT_METRICS_ALLOW', 'all', '10.1', '::/200'],
      ['CARDVAULT_TLS_MAX_VERSION', '1.1', 'TLSv1.3', '1.30'],
      ['CARDVAULT_LOG_LEVEL', 'INFO', 'loud', 'toString'],
      ['CARDVAULT_DATABASE_URL', 'mysql://x', 'vault.db', 'sqlite:', 'postgres://me@h/d?x=1', 'postgres://me@h:0/d'],
      ['CARDVAULT_DATABASE_WRITERS', '0', '65', 'many'],
      ['CARDVAULT_DATABASE_READERS', '0', '65'],
      ['CARDVAULT_DATABASE_CONNECT_TIMEOUT_MS', '99', '600001'],
      ['CARDVAULT_DATABASE_STATEMENT_TIMEOUT_MS', '0', '5s'],
      ['CARDVAULT_DATABASE_SHARDED', 'yes'],
      ['CARDVAULT_CLOCK', 'mine'],
    ];
    for (const [name, ...texts] of refused) {
      for (const text of texts) {
        const found = problems({ [name]: text });
        assert.equal(found.length, 1, `${name}=${text}: ${found}`);
        assert.match(found[0] ?? '', new RegExp(`^${name}: (?:expected|contains) `));
      }
    }
  });
});

describe('problems', () => {
  it('are all reported together, each once, without values', () => {
    const found = problems({
      CARDVAULT_PRODUCTION_PORT: 'secret-1',
      CARDVAULT_SANDBOX_PORT: 'secret-2',
      CARDVAULT_HOST: 'secret-3',
      CARDVAULT_LOG_LEVEL: 'secret-4',
      CARDVAULT_TLS_CERT: 'secret-5',
      CARDVAULT_LOGLEVEL: 'secret-6',
    });
    assert.deepEqual(found.map((problem) => problem.split(':')[0]).sort(), [
      'CARDVAULT_HOST',
      'CARDVAULT_LOGLEVEL',
      'CARDVAULT_LOG_LEVEL',
      'CARDVAULT_PRODUCTION_PORT',
      'CARDVAULT_SANDBOX_PORT',
      'CARDVAULT_TLS_CERT and CARDVAULT_TLS_KEY',
    ]);
    assert.doesNotMatch(found.join('\n'), /secret/);
  });

  it('are counted in the message', () => {
    assert.equal(new ConfigError(['a']).message, 'the configuration has 1 problem');
    assert.equal(new ConfigError(['a', 'b']).message, 'the configuration has 2 problems');
  });

  it('include misspelled settings', () => {
    assert.deepEqual(problems({ CARDVAULT_DATADIR: 'x' }), ['CARDVAULT_DATADIR: there is no such setting']);
    assert.deepEqual(problems({ CARDVAULT_: '' }), ['CARDVAULT_: there is no such setting']);
    assert.equal(problems({ CARDVAULT_PORTS: '1' }).length, 1);
  });

  it('do not include the variables that Kubernetes sets for a service of that name', () => {
    const variables = {
      CARDVAULT_SERVICE_HOST: '10.0.0.1',
      CARDVAULT_SERVICE_PORT: '8443',
      CARDVAULT_SERVICE_PORT_HTTPS: '8443',
      CARDVAULT_PORT: 'tcp://10.0.0.1:8443',
      CARDVAULT_PORT_8443_TCP: 'tcp://10.0.0.1:8443',
      CARDVAULT_PORT_8443_TCP_PROTO: 'tcp',
      CARDVAULT_PORT_8443_TCP_PORT: '8443',
      CARDVAULT_PORT_8443_TCP_ADDR: '10.0.0.1',
    };
    assert.deepEqual(parseConfig(variables), DEFAULTS);
    assert.throws(() => parseConfig({ CARDVAULT_PORT: '8443' }), ConfigError);
  });

  it('include a certificate without its key and a key without its certificate', () => {
    const both = ['CARDVAULT_TLS_CERT and CARDVAULT_TLS_KEY: set both or neither'];
    assert.deepEqual(problems({ CARDVAULT_TLS_CERT: 'a' }), both);
    assert.deepEqual(problems({ CARDVAULT_TLS_KEY: 'a' }), both);
    assert.deepEqual(problems({ CARDVAULT_TLS_CERT: 'a', CARDVAULT_TLS_KEY: '' }), both);
  });

  it('include two listeners on one port, but not two on ports that the system chooses', () => {
    assert.match(problems({ CARDVAULT_SANDBOX_PORT: '8443' }).join(), /ports of their own/);
    assert.match(
      problems({ CARDVAULT_PRODUCTION_PORT: '9', CARDVAULT_CONSOLE_PORT: '9' }).join(),
      /ports of their own/,
    );
    const free = { CARDVAULT_PRODUCTION_PORT: '0', CARDVAULT_SANDBOX_PORT: '0', CARDVAULT_CONSOLE_PORT: '0' };
    assert.deepEqual(parseConfig(free).ports, { production: 0, sandbox: 0, console: 0, cards: 8446 });
  });
});

describe('the SMTP server', () => {
  const FROM = { CARDVAULT_SMTP_FROM: 'vault@example.com' };
  const smtpOf = (url: string, more = {}) => parseConfig({ CARDVAULT_SMTP_URL: url, ...FROM, ...more }).smtp;

  it('is an address with the user and password of a URL', () => {
    assert.deepEqual(smtpOf('smtp://vault%40example.com:p%3As@mail.example.com'), {
      host: 'mail.example.com',
      port: 587,
      isTls: false,
      requiresTls: true,
      user: 'vault@example.com',
      password: 'p:s',
      passwordFile: undefined,
      from: 'vault@example.com',
    });
    const { port, isTls, passwordFile } =
      smtpOf('smtps://u@mail.example.com', {
        CARDVAULT_SMTP_PASSWORD_FILE: '/run/secrets/smtp',
      }) ?? {};
    assert.deepEqual([port, isTls, passwordFile], [465, true, '/run/secrets/smtp']);
  });

  it('needs no TLS on this machine alone', () => {
    for (const host of ['localhost:25', '127.0.0.1:2525', '[::1]:25'])
      assert.equal(smtpOf(`smtp://${host}`)?.requiresTls, false);
    for (const host of ['10.0.0.1', 'localhost.example.com']) assert.equal(smtpOf(`smtp://${host}`)?.requiresTls, true);
  });

  it('is rejected without repeating the password', () => {
    for (const url of [
      'https://u:secret@h',
      'smtp://u:secret@h/path',
      'smtp://u:secret@h?x=1',
      'smtp://u:%zz-secret@h',
    ]) {
      const [problem = ''] = problems({ CARDVAULT_SMTP_URL: url, ...FROM });
      assert.match(problem, /^CARDVAULT_SMTP_URL: expected smtp:/);
      assert.ok(!problem.includes('secret'));
    }
    assert.deepEqual(problems(FROM), ['CARDVAULT_SMTP_URL and CARDVAULT_SMTP_FROM: set both or neither']);
    assert.match(problems({ CARDVAULT_SMTP_URL: 'smtp://h', CARDVAULT_SMTP_FROM: 'x' })[0] ?? '', /an email address/);
  });
});

describe('custody of the root key', () => {
  const custody = (text: string, more = {}) =>
    parseConfig({ CARDVAULT_DATA_DIR: '/d', CARDVAULT_ROOT_KEY: text, ...more }).rootKey;

  it('is chosen by its kind, with the file in the data directory', () => {
    for (const [text, kind, file] of [
      ['file', 'file', '/d/root.key'],
      ['file:/etc/root', 'file', '/etc/root'],
      ['passphrase', 'passphrase', '/d/root.sealed'],
      ['passphrase:other', 'passphrase', '/d/other'],
      ['custodians:/etc/root', 'custodians', '/etc/root'],
    ] as const) {
      const { kind: read, file: path } = custody(text);
      assert.deepEqual([read, path], [kind, file], text);
    }
    assert.equal(custody('passphrase', { CARDVAULT_ROOT_KEY_FILE: 'k' }).file, '/d/k');
  });

  it('names the key of a token or of AWS KMS', () => {
    const pkcs11 = custody('pkcs11:/usr/lib/softhsm.so?token=card%20vault&object=root', {
      CREDENTIALS_DIRECTORY: '/run/credentials',
      CARDVAULT_ROOT_KEY_PASSPHRASE_FILE: '/etc/pin',
    });
    assert.deepEqual(pkcs11.token, { module: '/usr/lib/softhsm.so', token: 'card vault', object: 'root' });
    assert.deepEqual([pkcs11.credentialsFolder, pkcs11.secretFile], ['/run/credentials', '/etc/pin']);
    const arn = 'arn:aws:kms:sa-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab';
    const kms = custody(`awskms:${arn}`, { CARDVAULT_AWS_KMS_ENDPOINT: 'https://kms.example' });
    assert.deepEqual(kms.kms, { arn, region: 'sa-east-1', endpoint: 'https://kms.example' });
  });

  it('is not accepted in another form, and the text is not repeated', () => {
    for (const text of [
      'vault',
      'pkcs11',
      'pkcs11:lib.so?token=a&object=b',
      'pkcs11:/lib.so?token=a',
      'pkcs11:/lib.so?token=a&object=b&pin-value=1234',
      'awskms:alias/a',
      'awskms:arn:aws:s3:::bucket',
    ]) {
      const [problem = '', ...others] = problems({ CARDVAULT_ROOT_KEY: text });
      assert.match(problem, /^CARDVAULT_ROOT_KEY: expected file/, text);
      assert.deepEqual(others, []);
      assert.ok(!problem.includes('1234'));
    }
    assert.deepEqual(problems({ CARDVAULT_ROOT_KEY: 'file:/a', CARDVAULT_ROOT_KEY_FILE: '/b' }), [
      'CARDVAULT_ROOT_KEY and CARDVAULT_ROOT_KEY_FILE: give the path in one of them',
    ]);
    assert.equal(problems({ CARDVAULT_AWS_KMS_ENDPOINT: 'http://kms.example' }).length, 1);
  });

  it('may have peers that unseal each other, with custodians only', () => {
    const digits = 'ab'.repeat(32);
    const peers = {
      CARDVAULT_UNSEAL_PORT: '8447',
      CARDVAULT_UNSEAL_CERT: '/c',
      CARDVAULT_UNSEAL_KEY: '/k',
      CARDVAULT_UNSEAL_PEERS: `other.example:8447#${digits.toUpperCase().replace(/..(?=.)/g, '$&:')}, [::1]:1#${digits}`,
    };
    const { unsealPeers } = parseConfig({ CARDVAULT_ROOT_KEY: 'custodians', ...peers });
    assert.deepEqual(unsealPeers, {
      port: 8447,
      identity: { certificate: '/c', key: '/k' },
      peers: [
        { host: 'other.example', port: 8447, fingerprint: digits },
        { host: '::1', port: 1, fingerprint: digits },
      ],
    });
    assert.match(problems(peers)[0] ?? '', /^CARDVAULT_UNSEAL_…/);
    assert.match(problems({ CARDVAULT_ROOT_KEY: 'custodians', CARDVAULT_UNSEAL_PORT: '1' })[0] ?? '', /UNSEAL_…/);
    assert.equal(problems({ CARDVAULT_UNSEAL_PEERS: 'a:1#12' }).length, 2);
  });
});

describe('the receivers of the audit log', () => {
  it('are a syslog server and a collector, with files of certificates', () => {
    const { auditReceivers } = parseConfig({
      CARDVAULT_AUDIT_SYSLOG: 'tls://[::1]',
      CARDVAULT_AUDIT_OTLP: 'https://collector.example:4318/v1/logs',
      CARDVAULT_AUDIT_RECEIVER_CA: '/ca.pem',
      CARDVAULT_AUDIT_RECEIVER_CERT: '/c.pem',
      CARDVAULT_AUDIT_RECEIVER_KEY: '/k.pem',
    });
    assert.deepEqual(auditReceivers.syslog, { host: '::1', port: 6514 });
    assert.equal(auditReceivers.otlp?.url.href, 'https://collector.example:4318/v1/logs');
    const certificate = { certificateFile: '/c.pem', keyFile: '/k.pem' };
    assert.deepEqual(auditReceivers.tls, { caFile: '/ca.pem', certificate });
    const none = { syslog: undefined, otlp: undefined, tls: { caFile: undefined, certificate: undefined } };
    assert.deepEqual(parseConfig({}).auditReceivers, none);
  });

  it('and the database see certificates of the service, each with its file', () => {
    const receivers = { CARDVAULT_AUDIT_RECEIVER_CERT: '/c.pem', CARDVAULT_AUDIT_RECEIVER_KEY: '/c.key' };
    const url = 'postgres://u@db/v?sslcert=/d.pem&sslkey=/d.key';
    assert.deepEqual(listClientCertificates(parseConfig({})), []);
    assert.deepEqual(listClientCertificates(parseConfig({ CARDVAULT_DATABASE_URL: 'postgres://u@db/v' })), []);
    assert.deepEqual(listClientCertificates(parseConfig({ ...receivers, CARDVAULT_DATABASE_URL: url })), [
      ['audit_receivers', '/c.pem'],
      ['database', '/d.pem'],
    ]);
  });

  it('are rejected without TLS, and without repeating a secret', () => {
    for (const url of ['udp://h:514', 'tcp://h', 'tls://u:secret@h', 'tls://h/path', 'tls://h?secret', 'h:6514'])
      assert.match(
        problems({ CARDVAULT_AUDIT_SYSLOG: url })[0] ?? '',
        /^CARDVAULT_AUDIT_SYSLOG: expected tls:[^s]*, w/,
      );
    for (const url of ['http://h/v1/logs', 'https://u:secret@h/v1/logs', 'https://h/#secret', 'h'])
      assert.match(
        problems({ CARDVAULT_AUDIT_OTLP: url })[0] ?? '',
        /^CARDVAULT_AUDIT_OTLP: expected https:[^s]*PATH,/,
      );
    assert.deepEqual(problems({ CARDVAULT_AUDIT_RECEIVER_CERT: '/c.pem' }), [
      'CARDVAULT_AUDIT_RECEIVER_CERT and CARDVAULT_AUDIT_RECEIVER_KEY: set both or neither',
    ]);
  });

  it('have a log that remains for 90 days at least', () => {
    assert.equal(parseConfig({}).auditRetentionMs, 365 * 86_400_000);
    assert.equal(parseConfig({ CARDVAULT_AUDIT_RETENTION: '90d' }).auditRetentionMs, 90 * 86_400_000);
    for (const text of ['89d', '90', '1y', '99999d'])
      assert.deepEqual(problems({ CARDVAULT_AUDIT_RETENTION: text }), [
        'CARDVAULT_AUDIT_RETENTION: expected 90d to 36500d',
      ]);
  });
});
