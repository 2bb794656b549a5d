import { Alert, Button, Checkbox, Group, SimpleGrid, Stack } from '@mantine/core';
import { Download, TriangleAlert } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CopyButton } from './copy.tsx';
import { useLeaveGuard } from './leave-guard.ts';
import classes from './recovery-codes.module.css';

interface RecoveryCodesProps {
  readonly codes: readonly string[];
  readonly onStored: () => void;
}

/** Shows recovery codes once. */
export function RecoveryCodes({ codes, onStored }: RecoveryCodesProps) {
  const { t } = useTranslation('parts');
  const [isStored, setStored] = useState(false);
  useLeaveGuard(!isStored);
  return (
    <Stack gap="md">
      <Alert color="yellow" icon={<TriangleAlert size={18} aria-hidden />}>
        {t('recoveryOnce')}
      </Alert>
      <SimpleGrid component="ul" cols={2} spacing="xs" verticalSpacing={6} className={classes['codes'] ?? ''}>
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </SimpleGrid>
      <Group gap="xs">
        <CopyButton value={codes.join('\n')} hasText />
        <DownloadButton text={`cardvault\n\n${codes.join('\n')}\n`} />
      </Group>
      <Checkbox
        label={t('storedThem')}
        checked={isStored}
        onChange={(event) => setStored(event.currentTarget.checked)}
      />
      <Button onClick={onStored} disabled={!isStored}>
        {t('goOn')}
      </Button>
    </Stack>
  );
}

function DownloadButton({ text }: { readonly text: string }) {
  const { t } = useTranslation('parts');
  return (
    <Button
      component="a"
      href={useTextFile(text)}
      download="cardvault-recovery-codes.txt"
      variant="default"
      leftSection={<Download size={16} aria-hidden />}
    >
      {t('download')}
    </Button>
  );
}

/** Returns an object URL, which is revoked with the component. */
function useTextFile(text: string): string {
  const [url, setUrl] = useState('');
  useEffect(() => {
    const objectUrl = URL.createObjectURL(new Blob([text], { type: 'text/plain' }));
    setUrl(objectUrl);
    return () => URL.revokeObjectURL(objectUrl);
  }, [text]);
  return url;
}
