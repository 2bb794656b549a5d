import { Button, Checkbox, Group, NativeSelect, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { type UseFormReturnType, useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import type { Environment } from '../../../../../src/kernel/environment.ts';
import { LIMITS } from '../../../../../src/kernel/limits.ts';
import type { CallError } from '../../api/call.ts';
import { ByTwoNote, useByTwo } from '../../parts/by-two.tsx';
import { EnvironmentBadge } from '../../parts/environment-badge.tsx';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { useFieldErrors } from '../../parts/field-errors.ts';
import { useShownFault } from '../../parts/shown-fault.ts';
import { isAnyWide, joined, readPasted } from './allow-list.ts';
import { AllowListEditor } from './allow-list-editor.tsx';
import {
  addressFault,
  EXPIRIES,
  type Expiry,
  endOfDay,
  type KeyTraits,
  type KeyValues,
  traitsOf,
} from './key-values.ts';
import { useBadLines } from './paste-addresses.tsx';
import { PermissionPicker } from './permission-picker.tsx';

export type KeyForm = UseFormReturnType<KeyValues>;

interface KeyFormProps {
  readonly initial: KeyValues;
  /** When the key ends now; undefined for a new one. */
  readonly ends?: string | null;
  readonly environment: Environment;
  readonly yourAddress: string;
  readonly submitLabel: string;
  readonly isBusy: boolean;
  /** The dialog closes: the form is still to be seen, and a second click would send it again. */
  readonly isOver: boolean;
  readonly onSubmit: (traits: KeyTraits, onError: (error: CallError) => void) => void;
  readonly onCancel: () => void;
}

/** Of all that would be saved. */
const isWide = ({ allow_list, pasted }: KeyValues): boolean => isAnyWide([...allow_list, ...readPasted(pasted).rows]);

function useKeyForm(initial: KeyValues, environment: Environment): KeyForm {
  const { t } = useTranslation('keys');
  const badLines = useBadLines();
  const long = (text: string, max: number): string | null =>
    [...text].length > max ? t('form.fault.long', { max }) : null;
  return useForm<KeyValues>({
    initialValues: initial,
    validate: {
      name: (name) => (name.trim() === '' ? t('form.fault.name') : long(name, LIMITS.apiKeyNameCharacters)),
      description: (text) => long(text, LIMITS.apiKeyDescriptionCharacters),
      permissions: (chosen) => (chosen.length === 0 ? t('form.fault.permissions') : null),
      date: (date, { expiry }) => (expiry === 'date' && !(endOfDay(date) > Date.now()) ? t('form.fault.date') : null),
      pasted: badLines,
      isWideMeant: (isMeant, values) =>
        environment === 'production' && isWide(values) && !isMeant ? t('form.fault.wide') : null,
      allow_list: {
        cidr: (_, { allow_list }, path) => {
          const fault = addressFault(allow_list, Number(path.split('.')[1]));
          return fault === undefined ? null : t(`form.fault.${fault}`);
        },
        note: (note) => long(note, LIMITS.allowListNoteCharacters),
      },
    },
  });
}

/** For a new key and for one that changes. */
export function KeyFields(props: KeyFormProps) {
  const { initial, ends = null, environment, yourAddress, submitLabel, isBusy, isOver, onSubmit, onCancel } = props;
  const { t } = useTranslation('keys');
  const { t: tParts } = useTranslation('parts');
  const isByTwo = useByTwo();
  const form = useKeyForm(initial, environment);
  const { rest, onError, clear } = useFieldErrors(form, { expires_at: 'expiry' });
  const { form: element, tried } = useShownFault(isBusy);
  const send = form.onSubmit((values) => {
    if (isOver) return;
    clear();
    // Whoever pasted a list wants it, also without the button beside it.
    const taken = { allow_list: joined(values.allow_list, readPasted(values.pasted).rows), pasted: '' };
    form.setValues(taken);
    onSubmit(traitsOf({ ...values, ...taken }, Date.now(), ends), onError);
  });
  return (
    <form
      ref={element}
      onSubmit={(event) => {
        send(event);
        tried();
      }}
      noValidate
    >
      <Stack gap="lg">
        {environment === 'production' && (
          <Group gap="xs">
            <EnvironmentBadge environment={environment} />
            <Text size="sm">{t('form.production')}</Text>
          </Group>
        )}
        {isByTwo && <ByTwoNote />}
        <TextInput
          label={t('form.name')}
          description={t('form.nameHint')}
          required
          autoComplete="off"
          data-autofocus
          {...form.getInputProps('name')}
        />
        <Textarea
          label={t('form.description')}
          description={t('form.descriptionHint')}
          autosize
          minRows={1}
          maxRows={5}
          {...form.getInputProps('description')}
        />
        <PermissionPicker form={form} />
        <AllowListEditor form={form} yourAddress={yourAddress} />
        {environment === 'production' && isWide(form.values) && (
          <Checkbox
            label={t('form.wideMeant')}
            aria-invalid={form.errors['isWideMeant'] !== undefined}
            {...form.getInputProps('isWideMeant', { type: 'checkbox' })}
          />
        )}
        <ExpiryFields form={form} canKeep={ends !== null} />
        {rest && <ErrorAlert error={rest} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onCancel} disabled={isBusy}>
            {t('form.cancel')}
          </Button>
          <Button type="submit" loading={isBusy}>
            {isByTwo ? tParts('askForIt') : submitLabel}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function ExpiryFields({ form, canKeep }: { readonly form: KeyForm; readonly canKeep: boolean }) {
  const { t } = useTranslation('keys');
  const choices = EXPIRIES.filter((each: Expiry) => canKeep || each !== 'kept');
  return (
    <Group gap="sm" align="flex-start" grow>
      <NativeSelect
        label={t('form.expiry')}
        data={choices.map((value) => ({ value, label: t(`form.expiryChoice.${value}`) }))}
        {...form.getInputProps('expiry')}
      />
      {form.values.expiry === 'date' && (
        <TextInput type="date" label={t('form.expiryDate')} required {...form.getInputProps('date')} />
      )}
    </Group>
  );
}
