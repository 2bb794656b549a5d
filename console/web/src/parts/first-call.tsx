import { Stack } from '@mantine/core';
import type { Environment } from '../../../../src/kernel/environment.ts';
import { useCurl } from '../session/api-access.ts';
import { CaFileNote } from './ca-file-note.tsx';
import { CodeBlock } from './code-block.tsx';

interface FirstCallProps {
  readonly label: string;
  readonly environment: Environment;
  /** New API key, shown once. */
  readonly secret: string;
}

/** Shows a command that tries a new key, and the file that it needs. */
export function FirstCall({ label, environment, secret }: FirstCallProps) {
  const curl = useCurl(environment);
  return (
    <Stack gap="xs">
      <CodeBlock label={label} code={`${curl}/v1/account \\\n  -H 'x-api-key: ${secret}'`} />
      <CaFileNote />
    </Stack>
  );
}
