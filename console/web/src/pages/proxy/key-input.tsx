import { Button, FileButton, Group, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { Upload } from 'lucide-react';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type KeyFileFault, readKeyFile } from './key-file.ts';
import classes from './key-input.module.css';

interface KeyInputProps {
  readonly label: string;
  readonly hint?: string;
  /** The value is never shown. */
  readonly isSecret?: boolean;
  readonly value: string;
  readonly onChange: (text: string) => void;
  readonly error: string | undefined;
}

/** Returns the chosen file of a secret, or the fault of a file that cannot be used. */
function useKeyFile(isSecret: boolean, onChange: (text: string) => void) {
  const [fault, setFault] = useState<KeyFileFault>();
  const [chosen, setChosen] = useState<File>();
  const resetRef = useRef<() => void>(null);
  const load = async (file: File | null): Promise<void> => {
    if (file === null) return;
    const result = await readKeyFile(file);
    // Allows choosing the same file again after it was corrected.
    resetRef.current?.();
    setFault('fault' in result ? result.fault : undefined);
    if (!('text' in result)) return;
    setChosen(isSecret ? file : undefined);
    onChange(result.text);
  };
  const change = (text: string): void => {
    setFault(undefined);
    setChosen(undefined);
    onChange(text);
  };
  return { fault, chosen, resetRef, load, change };
}

/** Reads a key from a file or from pasted text. The key is only in the memory of this form. */
export function KeyInput({ label, hint, isSecret = false, value, onChange, error }: KeyInputProps) {
  const { t } = useTranslation('proxy');
  const { fault, chosen, resetRef, load, change } = useKeyFile(isSecret, onChange);
  const common = {
    label,
    description: hint ?? t('upload.fileHint'),
    error: fault === undefined ? error : t(`upload.${fault}`),
  };
  return (
    <Stack gap={6}>
      {chosen === undefined ? (
        <Textarea
          {...common}
          value={value}
          onChange={(event) => change(event.currentTarget.value)}
          placeholder="-----BEGIN …-----"
          rows={5}
          classNames={{ input: `${classes['text']} ${isSecret && value !== '' ? classes['secret'] : ''}` }}
          autoComplete="off"
          spellCheck={false}
        />
      ) : (
        <TextInput {...common} value={t('upload.chosen', { name: chosen.name, size: chosen.size })} readOnly />
      )}
      <Group gap="xs">
        <FileButton onChange={load} resetRef={resetRef} accept=".pem,.crt,.cer,.key,.jwk,.json,.txt,text/plain">
          {(props) => (
            <Button {...props} variant="default" size="xs" leftSection={<Upload size={14} aria-hidden />}>
              {t('upload.file')}
            </Button>
          )}
        </FileButton>
        {chosen === undefined ? (
          <Text size="xs" c="dimmed">
            {t('upload.paste')}
          </Text>
        ) : (
          <Button variant="subtle" color="gray" size="xs" onClick={() => change('')}>
            {t('upload.otherFile')}
          </Button>
        )}
      </Group>
    </Stack>
  );
}
