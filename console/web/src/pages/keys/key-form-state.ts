import type { UseFormReturnType } from '@mantine/form';
import type { KeyValues } from './key-values.ts';

/** State of the key form, which its parts share. */
export type KeyForm = UseFormReturnType<KeyValues>;
