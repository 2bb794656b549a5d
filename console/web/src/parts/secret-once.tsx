import { Alert, Button, Checkbox, Stack, Text } from '@mantine/core';
import { TriangleAlert } from 'lucide-react';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CopyButton } from './copy.tsx';
import { useLeaveGuard } from './leave-guard.ts';
import classes from './secret-once.module.css';

interface SecretOnceProps {
  /** Name of the secret, such as "API key". */
  readonly label: string;
  readonly secret: string;
  /** Instruction and confirmation; by default to store the secret. */
  readonly notice?: string;
  readonly confirmation?: string;
  /** Called after the user confirms. */
  readonly onStored: () => void;
  /** Content between the secret and the button, such as an example. */
  readonly children?: ReactNode;
}

/** Shows a secret once. */
export function SecretOnce({ label, secret, notice, confirmation, onStored, children }: SecretOnceProps) {
  const { t } = useTranslation('parts');
  const [isStored, setStored] = useState(false);
  useLeaveGuard(!isStored);
  const shown = useRef<HTMLDivElement>(null);
  // The form and its button were replaced, so the focus moves here.
  useEffect(() => shown.current?.querySelector('button')?.focus(), []);
  return (
    <Stack gap="md">
      <Alert color="yellow" icon={<TriangleAlert size={18} aria-hidden />}>
        {notice ?? t('secretOnce')}
      </Alert>
      <Stack gap={6}>
        <Text size="sm" fw={500}>
          {label}
        </Text>
        <div className={classes['secret']} ref={shown}>
          <code>{secret}</code>
          <CopyButton value={secret} label={label} hasText />
        </div>
      </Stack>
      {children}
      <Checkbox
        label={confirmation ?? t('storedIt')}
        checked={isStored}
        onChange={(event) => setStored(event.currentTarget.checked)}
      />
      <Button onClick={onStored} disabled={!isStored}>
        {t('done')}
      </Button>
    </Stack>
  );
}
