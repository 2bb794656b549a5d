import { Alert, Button, Checkbox, Stack, Text } from '@mantine/core';
import { TriangleAlert } from 'lucide-react';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CopyButton } from './copy.tsx';
import { useLeaveGuard } from './leave-guard.ts';
import classes from './secret-once.module.css';

interface SecretOnceProps {
  /** What it is, as "API key". */
  readonly label: string;
  readonly secret: string;
  /** What to do with it, and what the person then says: without, that it is to be kept. */
  readonly notice?: string;
  readonly confirmation?: string;
  /** After "I have stored it". */
  readonly onStored: () => void;
  /** Between the secret and the button, as an example of its use. */
  readonly children?: ReactNode;
}

/** A secret that nobody can see again. */
export function SecretOnce({ label, secret, notice, confirmation, onStored, children }: SecretOnceProps) {
  const { t } = useTranslation('parts');
  const [isStored, setStored] = useState(false);
  useLeaveGuard(!isStored);
  const shown = useRef<HTMLDivElement>(null);
  // It stands where a form was, and the button that made it is gone.
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
