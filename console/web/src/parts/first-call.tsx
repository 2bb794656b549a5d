import { Stack } from '@mantine/core';
import type { Environment } from '../../../../src/kernel/environment.ts';
import { useCurl } from '../session/api-access.ts';
import { CaFileNote } from './ca-file-note.tsx';
import { CodeBlock } from './code-block.tsx';

interface FirstCallProps {
  readonly label: string;
  readonly environment: Environment;
  /** A new API key, shown this one time. */
  readonly secret: string;
}

/** A command to try a new key with, and the file that it needs. */
export function FirstCall({ label, environment, secret }: FirstCallProps) {
  const curl = useCurl(environment);
  return (
    <Stack gap="xs">
      <CodeBlock label={label} code={`${curl}/v1/account \\\n  -H 'x-api-key: ${secret}'`} />
      <CaFileNote />
    </Stack>
  );
}
