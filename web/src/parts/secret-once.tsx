import { Alert, Button, Checkbox, Stack, Text } from '@mantine/core';
import { TriangleAlert } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CopyButton } from './copy.tsx';
import { useHeldPage } from './held-page.ts';
import classes from './secret-once.module.css';

interface SecretOnceProps {
  /** What it is, as "API key". */
  readonly what: string;
  readonly secret: string;
  /** After "I have stored it". */
  readonly onStored: () => void;
  /** Between the secret and the button, as an example of its use. */
  readonly children?: ReactNode;
}

/** A secret that nobody can see again. */
export function SecretOnce({ what, secret, onStored, children }: SecretOnceProps) {
  const { t } = useTranslation('parts');
  const [isStored, setStored] = useState(false);
  useHeldPage(!isStored);
  return (
    <Stack gap="md">
      <Alert color="yellow" icon={<TriangleAlert size={18} aria-hidden />}>
        {t('secretOnce')}
      </Alert>
      <Stack gap={6}>
        <Text size="sm" fw={500}>
          {what}
        </Text>
        <div className={classes['secret']}>
          <code>{secret}</code>
          <CopyButton value={secret} what={what} isWide />
        </div>
      </Stack>
      {children}
      <Checkbox label={t('storedIt')} checked={isStored} onChange={(event) => setStored(event.currentTarget.checked)} />
      <Button onClick={onStored} disabled={!isStored}>
        {t('done')}
      </Button>
    </Stack>
  );
}
