import { Button, FileButton, Group, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { Upload } from 'lucide-react';
import { type DragEvent, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { containsPrivateKey, type KeyFileFault, readKeyFile } from './key-file.ts';
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
    if ('fault' in result) {
      setFault(result.fault);
      return;
    }
    change(result.text, file);
  };
  const change = (text: string, file?: File): void => {
    const isMisplaced = !isSecret && containsPrivateKey(text);
    setFault(isMisplaced ? 'privateKey' : undefined);
    setChosen(isSecret ? file : undefined);
    // It is neither sent nor left on the screen.
    onChange(isMisplaced ? '' : text);
  };
  return { fault, chosen, resetRef, load, change };
}

/** Loads a file that is dropped on the field; dropped text is inserted by the browser. */
function drop(event: DragEvent, load: (file: File) => Promise<void>): void {
  const [file] = event.dataTransfer.files;
  if (file === undefined) return;
  event.preventDefault();
  void load(file);
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
          onDragOver={(event) => event.preventDefault()}
          onDrop={(event) => drop(event, load)}
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
