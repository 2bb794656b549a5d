import { Group, Text } from '@mantine/core';
import classes from './logo.module.css';

/** Logo. `isShort`: without the name on narrow screens. */
export function Logo({ isShort = false }: { readonly isShort?: boolean }) {
  return (
    <Group gap={9} wrap="nowrap" aria-hidden>
      <svg width="26" height="26" viewBox="0 0 26 26" className={classes['mark']} focusable="false" aria-hidden="true">
        <rect width="26" height="26" rx="7" className={classes['ground']} />
        <rect x="6.5" y="5.5" width="13" height="10" rx="2" className={classes['card']} />
        <rect x="6.5" y="8" width="13" height="2" className={classes['stripe']} />
        <path d="M4.5 12.5h17V18a3 3 0 0 1-3 3h-11a3 3 0 0 1-3-3z" className={classes['slot']} />
        <circle cx="13" cy="16.75" r="1.6" className={classes['ground']} />
      </svg>
      <Text span fw={650} fz={17} className={classes['name'] ?? ''} {...(isShort && { visibleFrom: 'sm' })}>
        cardvault
      </Text>
    </Group>
  );
}
