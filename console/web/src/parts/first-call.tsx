import { Stack } from '@mantine/core';
import type { Permission } from '../../../../src/accounts/permission.ts';
import type { Environment } from '../../../../src/kernel/environment.ts';
import { useCurl } from '../session/api-access.ts';
import { CaFileNote } from './ca-file-note.tsx';
import { CodeBlock } from './code-block.tsx';
import { buildCardCall, buildFirstCall } from './curl-commands.ts';

interface FirstCallProps {
  readonly label: string;
  readonly environment: Environment;
  /** New API key, shown once. */
  readonly secret: string;
  /** Permissions of the key, where the page knows them. */
  readonly permissions?: readonly Permission[];
}

/**
 * Shows a command that tries a new key, which is filled in, and the file that the command needs. In the sandbox it stores a
 * test card, when the key may do that.
 */
export function FirstCall({ label, environment, secret, permissions = [] }: FirstCallProps) {
  const curl = useCurl(environment);
  const storesCard = environment === 'sandbox' && permissions.includes('tokens:create');
  return (
    <Stack gap="xs">
      <CodeBlock label={label} code={storesCard ? buildCardCall(curl, secret) : buildFirstCall(curl, secret)} />
      <CaFileNote />
    </Stack>
  );
}
