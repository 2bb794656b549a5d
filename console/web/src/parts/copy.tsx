import { ActionIcon, Button, Group, Text, Tooltip } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { Check, Copy } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import classes from './copy.module.css';

interface CopyButtonProps {
  readonly value: string;
  /** Name of the copied value for screen readers, such as "token". */
  readonly label?: string;
  /** Shows a text instead of the icon. */
  readonly hasText?: boolean;
}

export function CopyButton({ value, label, hasText = false }: CopyButtonProps) {
  const { t } = useTranslation('parts');
  const { copied, copy } = useClipboard({ timeout: 2000 });
  const name = label === undefined ? t('copy') : t('copyWhat', { what: label });
  const tooltip = copied ? t('copied') : name;
  const Icon = copied ? Check : Copy;
  const icon = <Icon size={hasText ? 16 : 14} aria-hidden />;
  if (hasText) {
    return (
      <Button variant="default" leftSection={icon} onClick={() => copy(value)} aria-live="polite">
        {copied ? t('copied') : t('copy')}
      </Button>
    );
  }
  return (
    <Tooltip label={tooltip} openDelay={300}>
      <ActionIcon variant="subtle" color="gray" size="sm" aria-label={tooltip} onClick={() => copy(value)}>
        {icon}
      </ActionIcon>
    </Tooltip>
  );
}

interface CopyFieldProps {
  readonly value: string;
  readonly label: string;
  /** Shown instead of the value, for example a part of it. */
  readonly shown?: string;
}

/** Shows a value in monospace with a copy button. */
export function CopyField({ value, label, shown }: CopyFieldProps) {
  return (
    <Group gap={4} wrap="nowrap" className={classes['field'] ?? ''}>
      <Text span ff="monospace" size="sm" className={classes['value'] ?? ''} title={value}>
        {shown ?? value}
      </Text>
      <CopyButton value={value} label={label} />
    </Group>
  );
}
