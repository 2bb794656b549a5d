import { Text } from '@mantine/core';

/** Shows a value without a text as the log has it. */
export function RawText({ children }: { readonly children: string }) {
  return (
    <Text component="code" ff="monospace" inherit>
      {children}
    </Text>
  );
}
