import { ActionIcon, Button, Group, Menu, Stack, Text, TextInput } from '@mantine/core';
import { Bookmark, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useParams } from 'react-router';
import type { ValueOf } from '../../../../src/http/fields.ts';
import { LIMITS } from '../../../../src/kernel/limits.ts';
import type { ViewedList } from '../../../people/viewed-lists.ts';
import { deleteView, listViews, renameView, saveView } from '../../../wire/views.ts';
import { useChange, useRead } from '../api/hooks.ts';
import { ErrorAlert } from './error-alert.tsx';
import { DialogForm, FormDialog } from './form-dialog.tsx';
import { notifySuccess } from './notifications.tsx';

type View = ValueOf<typeof listViews.data>['views'][number];
type Filters = Readonly<Record<string, string>>;

interface SavedViewsProps {
  readonly list: ViewedList;
  /** The filters that the list shows now; empty ones are not saved. */
  readonly values: Filters;
  readonly onApply: (values: Filters) => void;
}

/** Applies, saves, renames and deletes named filters of a list, which the service stores for the user. */
export function SavedViews({ list, values, onApply }: SavedViewsProps) {
  const { t } = useTranslation('lists');
  const { account = '' } = useParams();
  const [open, setOpen] = useState<'save' | 'manage'>();
  const { data } = useRead(listViews, { params: { account } });
  const views = data?.views.filter((view) => view.list === list) ?? [];
  const filters = Object.entries(values)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => ({ name, value }));
  const close = (): void => setOpen(undefined);
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" leftSection={<Bookmark size={16} aria-hidden />}>
            {t('views.action')}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {views.map((view) => (
            <Menu.Item key={view.id} onClick={() => onApply(toValues(view))}>
              {view.name}
            </Menu.Item>
          ))}
          {views.length === 0 && <Menu.Label>{t('views.none')}</Menu.Label>}
          <Menu.Divider />
          <Menu.Item disabled={filters.length === 0} onClick={() => setOpen('save')}>
            {t('views.save')}
          </Menu.Item>
          <Menu.Item disabled={views.length === 0} onClick={() => setOpen('manage')}>
            {t('views.manage')}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <FormDialog opened={open === 'save'} onClose={close} title={t('views.saveTitle')}>
        <SaveForm list={list} filters={filters} onDone={close} />
      </FormDialog>
      <FormDialog opened={open === 'manage'} onClose={close} title={t('views.manageTitle')}>
        <Stack gap="md">
          {views.map((view) => (
            <ViewEditor key={view.id} view={view} />
          ))}
          {views.length === 0 && <Text size="sm">{t('views.none')}</Text>}
        </Stack>
      </FormDialog>
    </>
  );
}

const toValues = ({ filters }: View): Filters => Object.fromEntries(filters.map(({ name, value }) => [name, value]));

interface SaveFormProps {
  readonly list: ViewedList;
  readonly filters: View['filters'];
  readonly onDone: () => void;
}

function SaveForm({ list, filters, onDone }: SaveFormProps) {
  const { t } = useTranslation('lists');
  const { account = '' } = useParams();
  const [name, setName] = useState('');
  const change = useChange(saveView);
  const submit = (): void =>
    change.mutate(
      { params: { account }, body: { list, name: name.trim(), filters: [...filters] } },
      {
        onSuccess: () => {
          notifySuccess(t('views.saved'));
          onDone();
        },
      },
    );
  return (
    <DialogForm
      onSubmit={submit}
      onCancel={onDone}
      label={t('views.saveSubmit')}
      isBusy={change.isPending}
      isReady={name.trim() !== ''}
      error={change.error}
    >
      <Text size="sm">{t('views.saveText', { max: LIMITS.savedViewsPerMember })}</Text>
      <NameField value={name} onChange={setName} />
    </DialogForm>
  );
}

function NameField({ value, onChange }: { readonly value: string; readonly onChange: (name: string) => void }) {
  const { t } = useTranslation('lists');
  return (
    <TextInput
      label={t('views.name')}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      maxLength={LIMITS.savedViewNameCharacters}
      autoComplete="off"
      flex={1}
      required
    />
  );
}

function ViewEditor({ view }: { readonly view: View }) {
  const { t } = useTranslation('lists');
  const { account = '' } = useParams();
  const [name, setName] = useState(view.name);
  const rename = useChange(renameView);
  const remove = useChange(deleteView);
  const params = { account, id: view.id };
  const error = rename.error ?? remove.error;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        rename.mutate({ params, body: { name: name.trim() } }, { onSuccess: () => notifySuccess(t('views.renamed')) });
      }}
    >
      <Group gap="xs" align="flex-end" wrap="nowrap">
        <NameField value={name} onChange={setName} />
        <Button
          type="submit"
          variant="default"
          loading={rename.isPending}
          disabled={name.trim() === '' || name.trim() === view.name}
        >
          {t('views.rename')}
        </Button>
        <ActionIcon
          variant="default"
          size={36}
          aria-label={t('views.delete', { name: view.name })}
          title={t('views.delete', { name: view.name })}
          loading={remove.isPending}
          onClick={() => remove.mutate({ params }, { onSuccess: () => notifySuccess(t('views.deleted')) })}
        >
          <Trash2 size={16} aria-hidden />
        </ActionIcon>
      </Group>
      {error !== null && <ErrorAlert error={error} />}
    </form>
  );
}
