import { useTranslation } from 'react-i18next';
import { localeOf } from './locale.ts';
import classes from './money.module.css';

/** `amount` is decimal text, as 12.50, and is never made a floating number. */
export function Money({ amount, currency }: { readonly amount: string; readonly currency: string }) {
  const { i18n } = useTranslation();
  return <span className={classes['money']}>{moneyText(amount, currency, i18n.language)}</span>;
}

/** For where there can be no element, as in a sentence. */
export function moneyText(amount: string, currency: string, language: string): string {
  if (amount === '') return '–';
  const places = amount.split('.')[1]?.length ?? 0;
  try {
    const format = new Intl.NumberFormat(localeOf(language), {
      style: 'currency',
      currency,
      currencyDisplay: 'narrowSymbol',
      minimumFractionDigits: places,
      maximumFractionDigits: places,
    });
    // As text: all digits count, and formats take decimal text.
    return `${format.format(amount as never)} ${currency}`;
  } catch {
    // No currency that the browser knows.
    return `${amount} ${currency}`;
  }
}
