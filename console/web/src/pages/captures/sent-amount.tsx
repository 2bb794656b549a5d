import { useTranslation } from 'react-i18next';
import { formatNumber } from '../../parts/number.ts';
import classes from './captures.module.css';

/** Shows the amount as a plain number, because only the sender knows its unit. */
export function SentAmount({ amount, currency }: { readonly amount: number; readonly currency: string }) {
  const { t, i18n } = useTranslation('captures');
  return (
    <span className={classes['amount']} title={t('amountNote')}>
      {formatNumber(amount, i18n.language)} {currency}
    </span>
  );
}
