import { ActionIcon, Alert, Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { ClipboardPaste, MapPin, Plus, TriangleAlert, X } from 'lucide-react';
import { type RefObject, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { useTranslation } from 'react-i18next';
import { type AllowListEntry, isSameNetwork, listNetworksOfMachine, mergeEntries } from './allow-list.ts';
import type { KeyForm } from './key-form-state.ts';
import classes from './keys.module.css';
import { useNetworkHints } from './network-hints.tsx';
import { PasteAddresses } from './paste-addresses.tsx';

interface EditorProps {
  readonly form: KeyForm;
  /** Address of the user. */
  readonly yourAddress: string;
}

/** Edits the allow-list: rows of address and note. */
export function AllowListEditor({ form, yourAddress }: EditorProps) {
  const { t } = useTranslation('keys');
  const [isPasting, setPasting] = useState(false);
  const add = useRef<HTMLButtonElement>(null);
  const rows = form.values.allow_list;
  const remove = (index: number): void => {
    form.removeListItem('allow_list', index);
    // The focused row was removed.
    add.current?.focus();
  };
  const endPasting = (added: readonly AllowListEntry[]): void => {
    flushSync(() => {
      form.setValues({ allow_list: mergeEntries(rows, added), pasted: '' });
      setPasting(false);
    });
    add.current?.focus();
  };
  return (
    <fieldset className={classes['part']}>
      <legend>{t('form.addresses')}</legend>
      <Text size="sm" c="dimmed">
        {t('form.addressesHint')}
      </Text>
      <Stack gap="xs">
        {rows.map((_, index) => (
          // Rows have no id and hold no state.
          // biome-ignore lint/suspicious/noArrayIndexKey: see above
          <AllowListRow key={index} {...{ form, index }} onRemove={() => remove(index)} />
        ))}
      </Stack>
      {rows.length === 0 && (
        <Alert color="yellow" icon={<TriangleAlert size={18} aria-hidden />}>
          {t('form.addressesEmpty')}
        </Alert>
      )}
      {isPasting ? (
        <PasteAddresses form={form} onDone={endPasting} />
      ) : (
        <AddButtons {...{ form, yourAddress, add }} onPaste={() => setPasting(true)} />
      )}
    </fieldset>
  );
}

interface AddButtonsProps extends EditorProps {
  readonly add: RefObject<HTMLButtonElement | null>;
  readonly onPaste: () => void;
}

/** Buttons that add an empty row, the user's own address, or a pasted list. */
function AddButtons({ form, yourAddress, add, onPaste }: AddButtonsProps) {
  const { t } = useTranslation('keys');
  const yours = useYourNetworks(yourAddress);
  const rows = form.values.allow_list;
  const count = mergeEntries(rows, []).length;
  const hasYours = mergeEntries(rows, yours).length === count;
  const addYours = (): void => {
    // The button disappears; the focus moves to the added row.
    flushSync(() => form.setFieldValue('allow_list', mergeEntries(rows, yours)));
    form.getInputNode(`allow_list.${count}.cidr`)?.focus();
  };
  const addRow = (): void => form.insertListItem('allow_list', { cidr: '', note: '' });
  const look = { variant: 'default', size: 'xs' } as const;
  return (
    <Group gap="xs">
      <Button ref={add} {...look} leftSection={<Plus size={14} aria-hidden />} onClick={addRow}>
        {t('form.add')}
      </Button>
      {!hasYours && yourAddress !== '' && (
        <Button {...look} leftSection={<MapPin size={14} aria-hidden />} onClick={addYours}>
          {t('form.addMine', { address: yourAddress })}
        </Button>
      )}
      <Button {...look} leftSection={<ClipboardPaste size={14} aria-hidden />} onClick={onPaste}>
        {t('form.paste')}
      </Button>
    </Group>
  );
}

/** Returns entries for the user's machine, which may have an address of each kind. */
function useYourNetworks(yourAddress: string): readonly AllowListEntry[] {
  const { t } = useTranslation('keys');
  const networks = listNetworksOfMachine(yourAddress);
  const noteOf = (cidr: string): string => t(cidr.includes(':') ? 'form.mineSix' : 'form.mineFour');
  return networks.map((cidr) => ({ cidr, note: networks.length > 1 ? noteOf(cidr) : t('form.mineNote') }));
}

/** Returns true when an earlier row has the same network. */
const isDuplicate = (rows: readonly AllowListEntry[], index: number, text: string): boolean =>
  text.trim() !== '' && rows.slice(0, index).some(({ cidr }) => isSameNetwork(cidr, text));

interface RowProps {
  readonly form: KeyForm;
  readonly index: number;
  readonly onRemove: () => void;
}

function AllowListRow({ form, index, onRemove }: RowProps) {
  const { t } = useTranslation('keys');
  const number = index + 1;
  const address = form.getInputProps(`allow_list.${index}.cidr`);
  const rows = form.values.allow_list;
  const text = rows[index]?.cidr ?? '';
  const hints = useNetworkHints(text, !address.error && isDuplicate(rows, index, text));
  return (
    <Group gap="xs" align="flex-start" wrap="nowrap">
      <div className={classes['row']}>
        <TextInput
          aria-label={`${t('form.address')} ${number}`}
          placeholder={t('form.addressPlaceholder')}
          classNames={{ input: classes['mono'] ?? '' }}
          autoComplete="off"
          spellCheck={false}
          autoFocus={text === ''}
          {...address}
          description={hints}
          inputWrapperOrder={['label', 'input', 'description', 'error']}
        />
        <TextInput
          aria-label={`${t('form.note')} ${number}`}
          placeholder={t('form.notePlaceholder')}
          autoComplete="off"
          {...form.getInputProps(`allow_list.${index}.note`)}
        />
      </div>
      <ActionIcon variant="subtle" color="gray" size={36} aria-label={t('form.remove', { number })} onClick={onRemove}>
        <X size={16} aria-hidden />
      </ActionIcon>
    </Group>
  );
}
