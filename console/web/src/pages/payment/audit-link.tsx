import { Anchor } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { useSetTextFilters } from '../../parts/url-filters.ts';
import { useCan, useTenant } from '../../session/tenant.ts';

interface AuditLinkProps {
  readonly payment: string;
  readonly action: string;
  readonly at: string;
}

/** Leads to the audit records of an event of a payment; nothing for a user who may not read the log. */
export function AuditLink({ payment, action, at }: AuditLinkProps) {
  const { t } = useTranslation('payments');
  const { account } = useTenant();
  const may = useCan();
  const path = `/a/${account}/audit`;
  const setTextFilters = useSetTextFilters(path);
  if (!may('audit:read')) return null;
  const day = at.slice(0, 'YYYY-MM-DD'.length);
  return (
    <Anchor
      component={Link}
      to={`${path}?${new URLSearchParams({ action, from: shiftDay(day, -1), to: shiftDay(day, 1) })}`}
      onClick={() => setTextFilters({ target: `payment:${payment}` })}
      size="sm"
    >
      {t('event.audit')}
    </Anchor>
  );
}

const DAY_MS = 86_400_000;

/** The day before or after, so that the record is found whatever the time zone of the log. */
const shiftDay = (day: string, days: number): string =>
  new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, day.length);
