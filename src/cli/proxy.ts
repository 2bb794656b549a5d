import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { Environment, Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { Configuration } from '../proxy/configuration.ts';
import type { Changes } from '../proxy/configurations.ts';
import { type Description, describeConfiguration } from '../proxy/description.ts';
import { SETTING_NAMES } from '../proxy/settings.ts';
import { type Core, type Tools, withCore } from './core.ts';
import { readEnvironment, readOverlap } from './options.ts';
import { details, operator, print, UsageError } from './output.ts';

interface Options {
  readonly account: string;
  readonly environment: Environment;
  readonly json?: boolean;
}

interface ConfigureOptions extends Options {
  readonly processorPublicKey?: string;
  readonly merchantPrivateKey?: string;
  readonly merchantCertificate?: string;
  readonly passphraseFile?: string;
  readonly setting?: Readonly<Record<string, string>>;
  readonly overlap: number;
}

export function proxyCommands(program: Command, tools: Tools): void {
  const proxy = program.command('proxy').description('keys, certificate and settings of an account’s proxy');
  configureCommand(proxy, tools);
  ofTenant(proxy.command('show').description('show fingerprints, expiry, settings and the certificate')).action(
    (options: Options) =>
      withCore(tools, async ({ accounts, configurations }) => {
        const tenant = await tenantOf(accounts, options);
        printConfiguration(tools, options, await configurations.get(tenant));
      }),
  );
  const remove = ofTenant(proxy.command('remove').description('erase all keys and settings, for good'));
  remove.option('--force', 'really').action((options: Options & { force?: boolean }) =>
    withCore(tools, async ({ accounts, configurations }) => {
      if (options.force !== true)
        throw new UsageError('this erases the private key of the merchant, for good; repeat with --force');
      const tenant = await tenantOf(accounts, options);
      await configurations.remove(tenant, operator());
      printConfiguration(tools, options, await configurations.get(tenant));
    }),
  );
}

function configureCommand(proxy: Command, tools: Tools): void {
  ofTenant(proxy.command('configure').description('set keys and settings; what is not given stays'))
    .option('--processor-public-key <file>', 'RSA public key: PEM, DER, JWK or certificate')
    .option('--merchant-private-key <file>', 'RSA private key: PEM (encrypted, too), DER or JWK')
    .option('--merchant-certificate <file>', 'its certificate, PEM or DER; without it one is made')
    .option('--passphrase-file <file>', 'passphrase of an encrypted private key')
    .option(
      '--setting <name=value>',
      `may be repeated; NAME= removes, NAME=@FILE reads the value; names: ${SETTING_NAMES.join(', ')}`,
      addSetting,
    )
    .option(
      '--overlap <minutes>',
      'how long what is in use stays in use beside a new key or certificate',
      readOverlap,
      0,
    )
    .action((options: ConfigureOptions) =>
      withCore(tools, async ({ accounts, configurations }) => {
        const tenant = await tenantOf(accounts, options);
        printConfiguration(tools, options, await configurations.configure(tenant, changesOf(options), operator()));
      }),
    );
}

const ofTenant = (command: Command): Command =>
  command
    .requiredOption('--account <id>', 'the account')
    .requiredOption('--environment <environment>', 'sandbox or production', readEnvironment)
    .option('--json', 'print JSON');

async function tenantOf(accounts: Core['accounts'], { account, environment }: Options): Promise<Tenant> {
  await accounts.get(account);
  return { account, environment };
}

function changesOf(options: ConfigureOptions): Changes {
  const { setting = {}, passphraseFile } = options;
  const settings = Object.entries(setting).map(([name, value]) => [
    name,
    value.startsWith('@') ? line(value.slice(1)) : value,
  ]);
  const changes = {
    processorPublicKey: content(options.processorPublicKey),
    merchantPrivateKey: content(options.merchantPrivateKey),
    merchantCertificate: content(options.merchantCertificate),
  };
  const isEmpty = settings.length === 0 && Object.values(changes).every((each) => each === undefined);
  if (isEmpty) throw new UsageError('nothing to change: give a key, a certificate or a setting');
  return {
    ...changes,
    passphrase: passphraseFile === undefined ? undefined : line(passphraseFile),
    settings: Object.fromEntries(settings),
    overlapMinutes: options.overlap,
  };
}

function addSetting(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const [, name, value] = /^([^=]+)=([\s\S]*)$/.exec(text) ?? [];
  // Without what was typed, which may be a password.
  if (name === undefined || value === undefined) throw new UsageError('--setting: expected NAME=VALUE');
  return { ...before, [name]: value };
}

function content(file: string | undefined): Buffer | undefined {
  if (file === undefined) return undefined;
  const bytes = read(file);
  if (bytes.length > LIMITS.keyFileBytes)
    throw new UsageError(`${file}: a file has at most ${LIMITS.keyFileBytes} bytes`);
  return bytes;
}

function read(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(code === 'ENOENT' ? `${file}: there is no such file` : `${file}: cannot be read (${code})`);
  }
}

/** Of a file with a secret; editors end its line. */
const line = (file: string): string => (content(file) ?? Buffer.alloc(0)).toString('utf8').replace(/\r?\n$/, '');

function printConfiguration(tools: Tools, options: Options, configuration: Configuration): void {
  const { account, environment, json } = options;
  const shown = describeConfiguration(configuration, tools.clock());
  print(tools, json, { account, environment, ...shown }, forPeople(shown));
}

function forPeople(shown: Description): string {
  const { processor_public_key: processor, merchant_private_key: merchant, merchant_certificate: certificate } = shown;
  const settings = Object.entries(shown.settings);
  const lines: [string, string][] = [
    ['processor public key', processor === null ? 'none' : keyLine(processor)],
    ...later(processor?.next, keyLine),
    ['merchant private key', merchant === null ? 'none' : keyLine(merchant)],
    ...later(merchant?.next, keyLine),
    ['merchant certificate', certificate === null ? 'none' : certificateLine(certificate)],
    ...later(certificate?.next, certificateLine),
    ...settings,
  ];
  const certificates = [certificate?.pem, certificate?.next?.pem].filter((pem) => pem !== undefined);
  return [details(lines), ...certificates.map((pem) => pem.trimEnd())].join('\n\n');
}

const keyLine = ({ fingerprint, bits }: { fingerprint: string; bits: number }): string =>
  `RSA ${bits} bits, SHA-256 ${fingerprint}`;

const certificateLine = (certificate: { expires_at: string; subject: string; fingerprint: string }): string =>
  `until ${certificate.expires_at}, ${certificate.subject}, SHA-256 ${certificate.fingerprint}`;

const later = <T extends { readonly from: string }>(
  next: T | null | undefined,
  show: (value: T) => string,
): [string, string][] => (next ? [[`  from ${next.from}`, show(next)]] : []);
