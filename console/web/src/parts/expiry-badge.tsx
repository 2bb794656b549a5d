import { useTranslation } from 'react-i18next';
import { Badge } from './status-badge.tsx';
import { useNow } from './time.tsx';

const MINUTE_MS = 60_000;
/** Enough time to obtain a new certificate. */
const SOON_MS = 30 * 24 * 60 * MINUTE_MS;

/** Shows whether a certificate is valid, expires soon, or has expired. */
export function ExpiryBadge({ expiresAt }: { readonly expiresAt: string }) {
  const { t } = useTranslation('proxy');
  const remaining = Date.parse(expiresAt) - useNow(MINUTE_MS);
  if (remaining <= 0) return <Badge tone="bad">{t('keys.expired')}</Badge>;
  if (remaining < SOON_MS) return <Badge tone="attention">{t('keys.endsSoon')}</Badge>;
  return <Badge tone="good">{t('keys.good')}</Badge>;
}
