import { useTranslation } from 'react-i18next';
import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { listPayments } from '../../../../wire/payments.ts';
import { Badge } from '../../parts/status-badge.tsx';

type PaymentRow = ValueOf<typeof listPayments.data>['payments'][number];

/** Shows, beside the status, that only a part was captured or that money was refunded. */
export function ShareBadges({ is_partly_captured, refund }: Pick<PaymentRow, 'is_partly_captured' | 'refund'>) {
  const { t } = useTranslation('payments');
  return (
    <>
      {is_partly_captured && <Badge tone="quiet">{t('partlyCaptured')}</Badge>}
      {refund !== 'none' && <Badge tone="quiet">{t(`refunded.${refund}`)}</Badge>}
    </>
  );
}
