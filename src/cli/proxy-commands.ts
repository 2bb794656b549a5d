import type { Command } from 'commander';
import type { ConfigurationView } from '../proxy/configuration-view.ts';
import type { ProxyConfiguration } from '../proxy/proxy-configuration.ts';
import type { ConfigurationChanges } from '../proxy/proxy-configurations.ts';
import { listSettings, SETTING_NAMES } from '../proxy/settings.ts';
import { asOperator, type CliContext, withCore } from './context.ts';
import {
  collectSetting,
  parseOverlap,
  readFileOption,
  readSecretFile,
  resolveSettings,
  resolveTenant,
  type TenantOptions,
  withTenantOptions,
} from './options.ts';
import { formatDetails, printResult, UsageError } from './output.ts';

interface ConfigureOptions extends TenantOptions {
  readonly processorPublicKey?: string;
  readonly merchantPrivateKey?: string;
  readonly merchantCertificate?: string;
  readonly passphraseFile?: string;
  readonly setting?: Readonly<Record<string, string>>;
  readonly overlap: number;
}

export function proxyCommands(program: Command, tools: CliContext): void {
  const proxy = program
    .command('proxy')
    .description('manage keys, certificate and settings of the payload proxy of an account');
  configureCommand(proxy, tools);
  withTenantOptions(
    proxy.command('show').description('show fingerprints, expiry, settings and the certificate'),
  ).action((options: TenantOptions) =>
    withCore(tools, async ({ accounts, configurations, clock }) => {
      const tenant = await resolveTenant(accounts, options);
      await printConfiguration(tools, options, await configurations.get(tenant), clock());
    }),
  );
  const remove = withTenantOptions(proxy.command('remove').description('delete all keys and settings permanently'));
  remove
    .option('--force', 'confirmation that the keys are deleted')
    .action((options: TenantOptions & { force?: boolean }) =>
      withCore(tools, async (core) => {
        const { accounts, configurations, clock } = core;
        if (options.force !== true)
          throw new UsageError('this deletes the private key of the merchant permanently; repeat with --force');
        const tenant = await resolveTenant(accounts, options);
        await asOperator(tools, core, (transaction) => configurations.remove(transaction, tenant));
        await printConfiguration(tools, options, await configurations.get(tenant), clock());
      }),
    );
}

function configureCommand(proxy: Command, tools: CliContext): void {
  withTenantOptions(
    proxy.command('configure').description('set keys and settings; options that are left out keep their values'),
  )
    .option('--processor-public-key <file>', 'RSA public key: PEM, DER, JWK or certificate')
    .option('--merchant-private-key <file>', 'RSA private key: PEM (encrypted, too), DER or JWK')
    .option('--merchant-certificate <file>', 'certificate of that key, PEM or DER; one is created if it is left out')
    .option('--passphrase-file <file>', 'passphrase of an encrypted private key')
    .option(
      '--setting <name=value>',
      `setting of the proxy; may be repeated; NAME= removes it, NAME=@FILE reads its value from a file, as a secret requires; names: ${SETTING_NAMES.join(', ')}`,
      collectSetting,
    )
    .option(
      '--overlap <minutes>',
      'minutes in which the previous key or certificate stays active beside the new one',
      parseOverlap,
      0,
    )
    .action((options: ConfigureOptions) =>
      withCore(tools, async (core) => {
        const { accounts, configurations, clock } = core;
        const tenant = await resolveTenant(accounts, options);
        const changes = toChanges(options);
        const configured = await asOperator(tools, core, (transaction) =>
          configurations.configure(transaction, tenant, changes),
        );
        await printConfiguration(tools, options, configured, clock());
      }),
    );
}

function toChanges(options: ConfigureOptions): ConfigurationChanges {
  const { setting = {}, passphraseFile } = options;
  const settings = resolveSettings(setting, listSettings({}));
  const changes = {
    processorPublicKey: readFileOption(options.processorPublicKey),
    merchantPrivateKey: readFileOption(options.merchantPrivateKey),
    merchantCertificate: readFileOption(options.merchantCertificate),
  };
  const isEmpty = Object.keys(settings).length === 0 && Object.values(changes).every((each) => each === undefined);
  if (isEmpty) throw new UsageError('nothing to change: give a key, a certificate or a setting');
  return {
    ...changes,
    passphrase: passphraseFile === undefined ? undefined : readSecretFile(passphraseFile),
    settings,
    overlapMinutes: options.overlap,
  };
}

async function printConfiguration(
  tools: CliContext,
  options: TenantOptions,
  configuration: ProxyConfiguration,
  now: number,
): Promise<void> {
  const { account, environment, json } = options;
  const { toConfigurationView } = await import('../proxy/configuration-view.ts');
  const shown = toConfigurationView(configuration, now);
  printResult(tools, json, { account, environment, ...shown }, toText(shown));
}

function toText(shown: ConfigurationView): string {
  const { processor_public_key: processor, merchant_private_key: merchant, merchant_certificate: certificate } = shown;
  const settings = Object.entries(shown.settings);
  const lines: [string, string][] = [
    ['processor public key', processor === null ? 'none' : formatKey(processor)],
    ...formatNext(processor?.next, formatKey),
    ['merchant private key', merchant === null ? 'none' : formatKey(merchant)],
    ...formatNext(merchant?.next, formatKey),
    ['merchant certificate', certificate === null ? 'none' : formatCertificate(certificate)],
    ...formatNext(certificate?.next, formatCertificate),
    ...settings,
  ];
  const certificates = [certificate?.pem, certificate?.next?.pem].filter((pem) => pem !== undefined);
  return [formatDetails(lines), ...certificates.map((pem) => pem.trimEnd())].join('\n\n');
}

const formatKey = ({ fingerprint, bits }: { fingerprint: string; bits: number }): string =>
  `RSA ${bits} bits, SHA-256 ${fingerprint}`;

const formatCertificate = (certificate: { expires_at: string; subject: string; fingerprint: string }): string =>
  `until ${certificate.expires_at}, ${certificate.subject}, SHA-256 ${certificate.fingerprint}`;

const formatNext = <T extends { readonly from: string }>(
  next: T | null | undefined,
  show: (value: T) => string,
): [string, string][] => (next ? [[`  from ${next.from}`, show(next)]] : []);
