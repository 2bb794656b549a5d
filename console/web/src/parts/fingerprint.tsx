import { useTranslation } from 'react-i18next';
import { CopyField } from './copy.tsx';

const GROUPS = /.{1,4}/g;

/** Shows hexadecimal digits in groups of four, which are easier to compare. */
export function Fingerprint({ value }: { readonly value: string }) {
  const { t } = useTranslation('parts');
  return <CopyField value={value} label={t('fingerprint')} shown={value.match(GROUPS)?.join(' ') ?? value} />;
}
