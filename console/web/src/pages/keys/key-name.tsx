import { Text } from '@mantine/core';
import type { Key } from './key-values.ts';
import classes from './keys.module.css';

/** Names the key in a dialog. */
export function KeyName({ apiKey: { name, prefix } }: { readonly apiKey: Key }) {
  return (
    <Text size="sm" fw={600} className={classes['words'] ?? ''}>
      {name} <span className={classes['mono']}>({prefix}…)</span>
    </Text>
  );
}
