import { Notifications } from '@mantine/notifications';
import classes from './notification-area.module.css';

const AUTO_CLOSE_MS = 6000;

/** Short words that something was done: at the foot of the side bar, where neither pages nor dialogs have buttons. */
export function NotificationArea() {
  return (
    <Notifications position="bottom-left" autoClose={AUTO_CLOSE_MS} classNames={{ root: classes['notes'] ?? '' }} />
  );
}
