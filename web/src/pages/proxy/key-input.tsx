import { Button, FileButton, Group, Stack, Text, Textarea } from '@mantine/core';
import { Upload } from 'lucide-react';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type KeyFileFault, readKeyFile } from './key-text.ts';

interface KeyInputProps {
  readonly label: string;
  readonly hint?: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
  readonly error: string | undefined;
}

/** A key by file or by paste. It is in the memory of this form only, and is gone when the dialog closes. */
export function KeyInput({ label, hint, value, onChange, error }: KeyInputProps) {
  const { t } = useTranslation('proxy');
  const [fault, setFault] = useState<KeyFileFault>();
  const resetRef = useRef<() => void>(null);
  const take = async (file: File | null): Promise<void> => {
    if (file === null) return;
    const read = await readKeyFile(file);
    // The same file can be chosen again, as after it was corrected.
    resetRef.current?.();
    setFault('fault' in read ? read.fault : undefined);
    if ('text' in read) onChange(read.text);
  };
  return (
    <Stack gap={6}>
      <Textarea
        label={label}
        description={hint ?? t('upload.fileHint')}
        value={value}
        onChange={(event) => {
          setFault(undefined);
          onChange(event.currentTarget.value);
        }}
        error={fault === undefined ? error : t(`upload.${fault}`)}
        placeholder="-----BEGIN …-----"
        rows={5}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: '0.75rem' } }}
        autoComplete="off"
        spellCheck={false}
      />
      <Group gap="xs">
        <FileButton onChange={take} resetRef={resetRef} accept=".pem,.crt,.cer,.key,.jwk,.json,.txt,text/plain">
          {(props) => (
            <Button {...props} variant="default" size="xs" leftSection={<Upload size={14} aria-hidden />}>
              {t('upload.file')}
            </Button>
          )}
        </FileButton>
        <Text size="xs" c="dimmed">
          {t('upload.paste')}
        </Text>
      </Group>
    </Stack>
  );
}
