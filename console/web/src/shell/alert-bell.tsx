import { ActionIcon } from '@mantine/core';
import { Bell } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { listAlerts } from '../../../wire/alerts.ts';
import { useRead } from '../api/hooks.ts';
import classes from './alert-bell.module.css';

const REFRESH_MS = 60_000;

/** Links to the alerts, with the number of those not seen. */
export function AlertBell() {
  const { t } = useTranslation('alerts');
  const { data } = useRead(listAlerts, {}, { refetchIntervalMs: REFRESH_MS });
  const count = data?.alerts.filter(({ is_seen }) => !is_seen).length ?? 0;
  return (
    <ActionIcon
      component={Link}
      to="/alerts"
      variant="subtle"
      color="gray"
      size="lg"
      className={classes['bell'] ?? ''}
      aria-label={count === 0 ? t('bell') : t('bellCount', { count })}
    >
      <Bell size={18} aria-hidden />
      {count > 0 && (
        <span className={classes['count']} aria-hidden>
          {count}
        </span>
      )}
    </ActionIcon>
  );
}
