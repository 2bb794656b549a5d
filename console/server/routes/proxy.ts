import type { ValueOf } from '../../../src/http/fields.ts';
import { notPossible } from '../../../src/kernel/failure.ts';
import { toConfigurationView } from '../../../src/proxy/configuration-view.ts';
import type { ProxyConfiguration } from '../../../src/proxy/proxy-configuration.ts';
import type { ConfigurationChanges } from '../../../src/proxy/proxy-configurations.ts';
import { listSettings } from '../../../src/proxy/settings.ts';
import { configureProxy, removeProxy, showProxy } from '../../wire/proxy.ts';
import { executed, type Route, route } from '../route.ts';
import { parseSettingInput } from '../user-input.ts';

export const proxyRoutes: readonly Route[] = [
  route(showProxy, async ({ services: { configurations }, tenant, now }) =>
    formatConfiguration(await configurations.get(tenant), now),
  ),

  route(
    configureProxy,
    async ({ services: { configurations }, transaction, tenant, body, now, consent }) => {
      const changes = parseChanges(body);
      const right = { consent, isMember: true };
      return executed(formatConfiguration(await configurations.configure(transaction, tenant, changes, right), now));
    },
    async ({ services: { configurations }, tenant, body }) => configurations.preview(tenant, parseChanges(body)),
  ),

  route(removeProxy, async ({ services: { configurations }, transaction, tenant, consent }) => {
    await configurations.remove(transaction, tenant, { consent, isMember: true });
    return executed({ done: true });
  }),
];

type Body = ValueOf<NonNullable<typeof configureProxy.body>>;

/** Throws `invalid_field`, `not_possible`. */
function parseChanges(body: Body): ConfigurationChanges {
  const files = {
    processorPublicKey: toBytes(body.processor_public_key),
    merchantPrivateKey: toBytes(body.merchant_private_key),
    merchantCertificate: toBytes(body.merchant_certificate),
  };
  const settings = parseSettingInput(body.settings ?? []);
  const isEmpty = Object.keys(settings).length === 0 && Object.values(files).every((each) => each === undefined);
  if (isEmpty) throw notPossible('nothingToChange');
  return { ...files, passphrase: body.passphrase, settings, overlapMinutes: body.overlap_minutes ?? 0 };
}

/** Returns the bytes of an uploaded file. */
const toBytes = (text: string | undefined): Uint8Array | undefined =>
  text === undefined ? undefined : Buffer.from(text, 'utf8');

function formatConfiguration(configuration: ProxyConfiguration, now: number) {
  const { processor_public_key, merchant_private_key, merchant_certificate } = toConfigurationView(configuration, now);
  return {
    processor_public_keys: listVersions(processor_public_key),
    merchant_private_keys: listVersions(merchant_private_key),
    merchant_certificates: listVersions(merchant_certificate),
    settings: listSettings(configuration.settings).map(({ isSet, value, defaultValue, isSecret, ...setting }) => ({
      ...setting,
      is_set: isSet,
      value: value ?? null,
      default_value: defaultValue ?? null,
      is_secret: isSecret,
    })),
  };
}

type Dated<T> = Omit<T, 'next'> & { readonly from: string | null };

/** Lists the active version, then the pending one. */
function listVersions<T extends { readonly next: (Omit<T, 'next'> & { readonly from: string }) | null }>(
  described: T | null,
): Dated<T>[] {
  if (described === null) return [];
  const { next, ...current } = described;
  const active = { ...current, from: null };
  return next === null ? [active] : [active, next];
}
