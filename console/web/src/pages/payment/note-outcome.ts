import { notifications } from '@mantine/notifications';
import type { useTranslation } from 'react-i18next';
import { moneyText } from '../../parts/money.tsx';
import { noteDone } from '../../parts/notices.tsx';
import type { Payment } from './payment-page.tsx';

type Translate = ReturnType<typeof useTranslation<'payments'>>['t'];

const BY_HAND = ['capture', 'payment_refund', 'authorization_void'] as const;
type ByHand = (typeof BY_HAND)[number];

const isByHand = (type: string): type is ByHand => (BY_HAND as readonly string[]).includes(type);

/** Says how the newest operation went: a refusal of the processor is an answer, too. */
export function noteOutcome({ operations, currency }: Payment, t: Translate, language: string): void {
  const newest = operations.findLast(({ type }) => isByHand(type));
  if (newest === undefined || !isByHand(newest.type)) return;
  const { state, type, amount, response_code } = newest;
  if (state === 'accepted') {
    noteDone(t(`act.accepted.${type}`, { amount: moneyText(amount, currency, language) }));
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
