import { useTranslation } from 'react-i18next';
import { resolveLocale } from './locale.ts';
import classes from './money.module.css';

interface MoneyProps {
  /** Decimal text, as 12.50; never made a floating number. */
  readonly amount: string;
  readonly currency: string;
}

/** An amount with the code of its currency, which no two currencies share as they share signs. */
export function Money({ amount, currency }: MoneyProps) {
  const { i18n } = useTranslation();
  return (
    <span className={classes['money']}>
      {formatAmount(amount, i18n.language)} <span className={classes['code']}>{currency}</span>
    </span>
  );
}

/** For where there can be no element, as in a sentence. */
export const formatMoney = (amount: string, currency: string, language: string): string =>
  `${formatAmount(amount, language)}\u00a0${currency}`;

function formatAmount(amount: string, language: string): string {
  if (amount === '') return '–';
  const decimals = amount.split('.')[1]?.length ?? 0;
  const format = new Intl.NumberFormat(resolveLocale(language), {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
  // As text: all digits count, and formats take decimal text.
  return format.format(amount as never);
}
