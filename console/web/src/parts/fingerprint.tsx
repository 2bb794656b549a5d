import { useTranslation } from 'react-i18next';
import { CopyField } from './copy.tsx';

const GROUPS = /.{1,4}/g;

/** Hexadecimal, in groups of four so that people can compare it. */
export function Fingerprint({ value }: { readonly value: string }) {
  const { t } = useTranslation('parts');
  return <CopyField value={value} label={t('fingerprint')} shown={value.match(GROUPS)?.join(' ') ?? value} />;
}
