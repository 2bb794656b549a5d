import { Button, Group, Stack, Textarea } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { localeOf } from '../../parts/locale.ts';
import { numberText } from '../../parts/number.ts';
import { type AllowedRow, readPasted } from './allow-list.ts';
import classes from './keys.module.css';

interface PasteProps {
  readonly onAdd: (rows: readonly AllowedRow[]) => void;
  readonly onCancel: () => void;
}

/** Many addresses at once. Nothing is added before every line is in order. */
export function PasteAddresses({ onAdd, onCancel }: PasteProps) {
  const { t, i18n } = useTranslation('keys');
  const [text, setText] = useState('');
  const [bad, setBad] = useState<readonly number[]>([]);
  const lines = new Intl.ListFormat(localeOf(i18n.language)).format(bad.map((line) => numberText(line, i18n.language)));
  const add = (): void => {
    const read = readPasted(text);
    setBad(read.bad);
    if (read.bad.length === 0) onAdd(read.rows);
  };
  return (
    <Stack gap="xs">
      <Textarea
        label={t('form.pasteLabel')}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        error={bad.length > 0 && t('form.pasteBad', { lines })}
        classNames={{ input: classes['mono'] ?? '' }}
        placeholder={'203.0.113.7  shop server\n198.51.100.0/24  office'}
        minRows={4}
        autosize
        maxRows={12}
        autoFocus
        spellCheck={false}
      />
      <Group gap="xs">
        <Button size="xs" onClick={add}>
          {t('form.pasteAdd')}
        </Button>
        <Button size="xs" variant="default" onClick={onCancel}>
          {t('form.pasteCancel')}
        </Button>
      </Group>
    </Stack>
  );
}
