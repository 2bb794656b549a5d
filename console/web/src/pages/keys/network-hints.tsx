import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { formatNumber } from '../../parts/number.ts';
import { type ParsedNetwork, parseNetwork } from './network.ts';

/** Returns warnings about a network before it is saved; undefined for most networks. */
export function useNetworkHints(text: string, isDuplicate: boolean): ReactNode {
  const { t } = useTranslation('keys');
  const widthText = useWidthText();
  const network = parseNetwork(text);
  const warnings = [isDuplicate ? t('form.fault.twice') : '', widthText(network)].filter((each) => each !== '');
  if (!network?.hasHostBits && warnings.length === 0) return undefined;
  return (
    <>
      {network?.hasHostBits && `${t('form.means', { network: network.network })} `}
      <Text span inherit c="var(--mantine-color-error)">
        {warnings.join(' ')}
      </Text>
    </>
  );
}

function useWidthText(): (network: ParsedNetwork | undefined) => string {
  const { t, i18n } = useTranslation('keys');
  return (network) => {
    if (network === undefined || !network.isWide) return '';
    if (network.isEverywhere) return t('form.everywhere');
    const { addresses } = network;
    return addresses === undefined
      ? t('form.wideSix')
      : t('form.wide', { addresses: formatNumber(addresses, i18n.language) });
  };
}
