import { Button, Group, Stack, Textarea } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { resolveLocale } from '../../parts/locale.ts';
import { formatNumber } from '../../parts/number.ts';
import { type AllowListEntry, parseList } from './allow-list.ts';
import type { KeyForm } from './key-form-state.ts';
import classes from './keys.module.css';

/** Returns a validator that names the invalid lines; null when all are valid. */
export function useInvalidLines(): (text: string) => string | null {
  const { t, i18n } = useTranslation('keys');
  return (text) => {
    const numbers = parseList(text).invalidLines.map((line) => formatNumber(line, i18n.language));
    if (numbers.length === 0) return null;
    return t('form.pasteBad', { lines: new Intl.ListFormat(resolveLocale(i18n.language)).format(numbers) });
  };
}

interface PasteProps {
  readonly form: KeyForm;
  /** Receives the pasted entries; none when the user cancels. */
  readonly onDone: (rows: readonly AllowListEntry[]) => void;
}

/** Adds many addresses. All lines have to be valid first. Saving the form adds them too. */
export function PasteAddresses({ form, onDone }: PasteProps) {
  const { t } = useTranslation('keys');
  const add = (): void => {
    if (!form.validateField('pasted').hasError) onDone(parseList(form.getValues().pasted).rows);
  };
  return (
    <Stack gap="xs">
      <Textarea
        label={t('form.pasteLabel')}
        classNames={{ input: classes['mono'] ?? '' }}
        placeholder={t('form.pastePlaceholder')}
        minRows={4}
        autosize
        maxRows={12}
        autoFocus
        spellCheck={false}
        {...form.getInputProps('pasted')}
      />
      <Group gap="xs">
        <Button size="xs" onClick={add}>
          {t('form.pasteAdd')}
        </Button>
        <Button size="xs" variant="default" onClick={() => onDone([])}>
          {t('form.pasteCancel')}
        </Button>
      </Group>
    </Stack>
  );
}
