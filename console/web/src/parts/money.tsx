import { useTranslation } from 'react-i18next';
import { localeOf } from './locale.ts';
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
      {amountText(amount, i18n.language)} <span className={classes['code']}>{currency}</span>
    </span>
  );
}

/** For where there can be no element, as in a sentence. */
export const moneyText = (amount: string, currency: string, language: string): string =>
  `${amountText(amount, language)}\u00a0${currency}`;

function amountText(amount: string, language: string): string {
  if (amount === '') return '–';
  const places = amount.split('.')[1]?.length ?? 0;
  const format = new Intl.NumberFormat(localeOf(language), {
    minimumFractionDigits: places,
    maximumFractionDigits: places,
  });
  // As text: all digits count, and formats take decimal text.
  return format.format(amount as never);
}
