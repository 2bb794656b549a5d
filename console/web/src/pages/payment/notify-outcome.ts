import { notifications } from '@mantine/notifications';
import type { useTranslation } from 'react-i18next';
import { formatMoney } from '../../parts/money.tsx';
import { notifySuccess } from '../../parts/notifications.tsx';
import type { Payment } from './payment.ts';

type Translate = ReturnType<typeof useTranslation<'payments'>>['t'];

const MANUAL_OPERATIONS = ['capture', 'payment_refund', 'authorization_void'] as const;
type ManualOperation = (typeof MANUAL_OPERATIONS)[number];

const isManual = (type: string): type is ManualOperation => (MANUAL_OPERATIONS as readonly string[]).includes(type);

/** Shows the outcome of the newest manual operation; a decline by the processor is an outcome too. */
export function notifyOutcome({ operations, currency }: Payment, t: Translate, language: string): void {
  const newest = operations.findLast(({ type }) => isManual(type));
  if (newest === undefined || !isManual(newest.type)) return;
  const { state, type, amount, response_code } = newest;
  if (state === 'accepted') {
    notifySuccess(t(`act.accepted.${type}`, { amount: formatMoney(amount, currency, language) }));
    return;
  }
  const refused = response_code === null ? t('act.refused') : t('act.refusedCode', { code: response_code });
  notifications.show({
    color: state === 'refused' ? 'red' : 'yellow',
    autoClose: false,
    closeButtonProps: { 'aria-label': t('close') },
    message: state === 'refused' ? refused : t('act.unknown'),
  });
}
