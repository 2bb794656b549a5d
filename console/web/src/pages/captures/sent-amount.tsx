import { useTranslation } from 'react-i18next';
import { formatNumber } from '../../parts/number.ts';
import classes from './captures.module.css';

/** Whole units or cents: only who sent it knows, so it is shown as a plain number. */
export function SentAmount({ amount, currency }: { readonly amount: number; readonly currency: string }) {
  const { t, i18n } = useTranslation('captures');
  return (
    <span className={classes['amount']} title={t('amountNote')}>
      {formatNumber(amount, i18n.language)} {currency}
    </span>
  );
}
