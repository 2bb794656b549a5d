import { useTranslation } from 'react-i18next';
import { numberFormat } from './formatters.ts';
import { resolveLocale } from './locale.ts';
import classes from './money.module.css';

interface MoneyProps {
  /** Decimal text such as 12.50; never a floating-point number. */
  readonly amount: string;
  readonly currency: string;
}

/** Shows an amount with its currency code, because currencies share symbols. */
export function Money({ amount, currency }: MoneyProps) {
  const { i18n } = useTranslation();
  return (
    <span className={classes['money']}>
      {formatAmount(amount, i18n.language)} <span className={classes['code']}>{currency}</span>
    </span>
  );
}

/** Formats an amount for a sentence, where no element can be used. */
export const formatMoney = (amount: string, currency: string, language: string): string =>
  `${formatAmount(amount, language)}\u00a0${currency}`;

function formatAmount(amount: string, language: string): string {
  if (amount === '') return '–';
  const decimals = amount.split('.')[1]?.length ?? 0;
  const format = numberFormat(resolveLocale(language), {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
  // `format` accepts decimal text, which keeps all digits.
  return format.format(amount as never);
}
