import { Notifications } from '@mantine/notifications';
import classes from './notes.module.css';

const STAYS_MS = 6000;

/** Short words that something was done: at the foot of the side bar, where neither pages nor dialogs have buttons. */
export function Notes() {
  return <Notifications position="bottom-left" autoClose={STAYS_MS} classNames={{ root: classes['notes'] ?? '' }} />;
}
