import { Notifications } from '@mantine/notifications';
import classes from './notification-area.module.css';

const AUTO_CLOSE_MS = 6000;

/** Shows notifications at the bottom of the sidebar, where pages and dialogs have no buttons. */
export function NotificationArea() {
  return (
    <Notifications position="bottom-left" autoClose={AUTO_CLOSE_MS} classNames={{ root: classes['notes'] ?? '' }} />
  );
}
