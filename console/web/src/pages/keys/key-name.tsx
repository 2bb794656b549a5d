import { Text } from '@mantine/core';
import type { Key } from './key-values.ts';
import classes from './keys.module.css';

/** Which key a dialog is about. */
export function KeyName({ apiKey: { name, prefix } }: { readonly apiKey: Key }) {
  return (
    <Text size="sm" fw={600} className={classes['words'] ?? ''}>
      {name} <span className={classes['mono']}>({prefix}…)</span>
    </Text>
  );
}
