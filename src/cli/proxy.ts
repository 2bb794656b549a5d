import type { Command } from 'commander';
import type { Configuration } from '../proxy/configuration.ts';
import type { Changes } from '../proxy/configurations.ts';
import { type Description, describeConfiguration } from '../proxy/description.ts';
import { SETTING_NAMES } from '../proxy/settings.ts';
import { type Tools, withCore } from './core.ts';
import { ofTenant, readOverlap, type TenantOptions, tenantOf } from './options.ts';
import { details, print, UsageError } from './output.ts';
import { contentOf, lineOf, readSetting, valuesOf } from './settings.ts';

interface ConfigureOptions extends TenantOptions {
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
    (options: TenantOptions) =>
      withCore(tools, async ({ accounts, configurations, clock }) => {
        const tenant = await tenantOf(accounts, options);
        printConfiguration(tools, options, await configurations.get(tenant), clock());
      }),
  );
  const remove = ofTenant(proxy.command('remove').description('erase all keys and settings, for good'));
  remove.option('--force', 'really').action((options: TenantOptions & { force?: boolean }) =>
    withCore(tools, async ({ accounts, configurations, clock }) => {
      if (options.force !== true)
        throw new UsageError('this erases the private key of the merchant, for good; repeat with --force');
      const tenant = await tenantOf(accounts, options);
      await configurations.remove(tenant, tools.operator());
      printConfiguration(tools, options, await configurations.get(tenant), clock());
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
      readSetting,
    )
    .option(
      '--overlap <minutes>',
      'how long what is in use stays in use beside a new key or certificate',
      readOverlap,
      0,
    )
    .action((options: ConfigureOptions) =>
      withCore(tools, async ({ accounts, configurations, clock }) => {
        const tenant = await tenantOf(accounts, options);
        const configured = await configurations.configure(tenant, changesOf(options), tools.operator());
        printConfiguration(tools, options, configured, clock());
      }),
    );
}

function changesOf(options: ConfigureOptions): Changes {
  const { setting = {}, passphraseFile } = options;
  const settings = valuesOf(setting);
  const changes = {
    processorPublicKey: contentOf(options.processorPublicKey),
    merchantPrivateKey: contentOf(options.merchantPrivateKey),
    merchantCertificate: contentOf(options.merchantCertificate),
  };
  const isEmpty = Object.keys(settings).length === 0 && Object.values(changes).every((each) => each === undefined);
  if (isEmpty) throw new UsageError('nothing to change: give a key, a certificate or a setting');
  return {
    ...changes,
    passphrase: passphraseFile === undefined ? undefined : lineOf(passphraseFile),
    settings,
    overlapMinutes: options.overlap,
  };
}

function printConfiguration(tools: Tools, options: TenantOptions, configuration: Configuration, now: number): void {
  const { account, environment, json } = options;
  const shown = describeConfiguration(configuration, now);
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
