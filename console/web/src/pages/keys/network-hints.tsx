import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { numberText } from '../../parts/number.ts';
import { type Meaning, meaningOf } from './network.ts';

/** What somebody should know about a network before it is saved; undefined for most. `isTwice`: it is there already. */
export function useNetworkHints(text: string, isTwice: boolean): ReactNode {
  const { t } = useTranslation('keys');
  const widthOf = useWidthText();
  const meaning = meaningOf(text);
  const alarms = [isTwice ? t('form.fault.twice') : '', widthOf(meaning)].filter((each) => each !== '');
  if (!meaning?.isCut && alarms.length === 0) return undefined;
  return (
    <>
      {meaning?.isCut && `${t('form.means', { network: meaning.network })} `}
      <Text span inherit c="var(--mantine-color-error)">
        {alarms.join(' ')}
      </Text>
    </>
  );
}

function useWidthText(): (meaning: Meaning | undefined) => string {
  const { t, i18n } = useTranslation('keys');
  return (meaning) => {
    if (meaning === undefined || !meaning.isWide) return '';
    if (meaning.isEverywhere) return t('form.everywhere');
    const { addresses } = meaning;
    return addresses === undefined
      ? t('form.wideSix')
      : t('form.wide', { addresses: numberText(addresses, i18n.language) });
  };
}
