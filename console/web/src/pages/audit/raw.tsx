import { Text } from '@mantine/core';

/** What there are no words for, as the log has it. */
export function RawText({ children }: { readonly children: string }) {
  return (
    <Text component="code" ff="monospace" inherit>
      {children}
    </Text>
  );
}
