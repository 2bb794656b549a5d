import { Checkbox, Group, NativeSelect, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import type { Environment } from '../../../../../src/kernel/environment.ts';
import { LIMITS } from '../../../../../src/kernel/limits.ts';
import type { CallError } from '../../api/call.ts';
import { DualControlNote, useDualControl } from '../../parts/dual-control.tsx';
import { EnvironmentBadge } from '../../parts/environment-badge.tsx';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { useFieldErrors } from '../../parts/field-errors.ts';
import { useFocusFirstError } from '../../parts/focus-first-error.ts';
import { FormButtons } from '../../parts/form-dialog.tsx';
import { useTimeZone } from '../../parts/time-zone.tsx';
import { hasWideNetwork, mergeEntries, parseList } from './allow-list.ts';
import { AllowListEditor } from './allow-list-editor.tsx';
import type { KeyForm } from './key-form-state.ts';
import {
  EXPIRIES,
  type Expiry,
  endOfDay,
  findAddressFault,
  type KeyAttributes,
  type KeyValues,
  toKeyAttributes,
} from './key-values.ts';
import { useInvalidLines } from './paste-addresses.tsx';
import { PermissionPicker } from './permission-picker.tsx';

interface KeyFormProps {
  readonly initial: KeyValues;
  /** Current expiry of the key; undefined for a new key. */
  readonly expiresAt?: string | null;
  readonly environment: Environment;
  readonly yourAddress: string;
  readonly submitLabel: string;
  readonly isBusy: boolean;
  /** True while the dialog closes: the form is still visible, and a second click must not send it again. */
  readonly isClosing: boolean;
  readonly onSubmit: (traits: KeyAttributes, onError: (error: CallError) => void) => void;
  readonly onCancel: () => void;
}

/** Checks all networks that would be saved. */
const hasWideNetworks = ({ allow_list, pasted }: KeyValues): boolean =>
  hasWideNetwork([...allow_list, ...parseList(pasted).rows]);

function useKeyForm(initial: KeyValues, environment: Environment): KeyForm {
  const { t } = useTranslation('keys');
  const invalidLines = useInvalidLines();
  const timeZone = useTimeZone();
  const tooLong = (text: string, max: number): string | null =>
    [...text].length > max ? t('form.fault.long', { max }) : null;
  return useForm<KeyValues>({
    initialValues: initial,
    validate: {
      name: (name) => (name.trim() === '' ? t('form.fault.name') : tooLong(name, LIMITS.apiKeyNameCharacters)),
      description: (text) => tooLong(text, LIMITS.apiKeyDescriptionCharacters),
      permissions: (chosen) => (chosen.length === 0 ? t('form.fault.permissions') : null),
      date: (date, { expiry }) =>
        expiry === 'date' && !(endOfDay(date, timeZone) > Date.now()) ? t('form.fault.date') : null,
      pasted: invalidLines,
      isWideIntended: (isMeant, values) =>
        environment === 'production' && hasWideNetworks(values) && !isMeant ? t('form.fault.wide') : null,
      allow_list: {
        cidr: (_, { allow_list }, path) => {
          const fault = findAddressFault(allow_list, Number(path.split('.')[1]));
          return fault === undefined ? null : t(`form.fault.${fault}`);
        },
        note: (note) => tooLong(note, LIMITS.allowListNoteCharacters),
      },
    },
  });
}

/** Form of a new or changed key. */
export function KeyFields(props: KeyFormProps) {
  const { initial, expiresAt = null, environment, yourAddress, submitLabel, isBusy, onCancel } = props;
  const { t } = useTranslation('keys');
  const { t: tParts } = useTranslation('parts');
  const needsApproval = useDualControl();
  const timeZone = useTimeZone();
  const form = useKeyForm(initial, environment);
  const { rest, onError, clear } = useFieldErrors(form, { expires_at: 'expiry' });
  const { form: element, onSubmitted } = useFocusFirstError(isBusy);
  const send = form.onSubmit((values) => {
    if (props.isClosing) return;
    clear();
    // A pasted list is saved even if the user did not press its button.
    const merged = { allow_list: mergeEntries(values.allow_list, parseList(values.pasted).rows), pasted: '' };
    form.setValues(merged);
    props.onSubmit(
      toKeyAttributes({ ...values, ...merged }, { now: Date.now(), timeZone, current: expiresAt }),
      onError,
    );
  });
  return (
    <form
      ref={element}
      onSubmit={(event) => {
        send(event);
        onSubmitted();
      }}
      noValidate
    >
      <Stack gap="lg">
        {environment === 'production' && <ProductionNote />}
        {needsApproval && <DualControlNote />}
        <NameFields form={form} />
        <PermissionPicker form={form} />
        <AllowListEditor form={form} yourAddress={yourAddress} />
        {environment === 'production' && hasWideNetworks(form.values) && (
          <Checkbox
            label={t('form.wideMeant')}
            aria-invalid={form.errors['isWideIntended'] !== undefined}
            {...form.getInputProps('isWideIntended', { type: 'checkbox' })}
          />
        )}
        <ExpiryFields form={form} canKeepExpiry={expiresAt !== null} />
        {rest && <ErrorAlert error={rest} />}
        <FormButtons
          onCancel={onCancel}
          label={needsApproval ? tParts('requestApproval') : submitLabel}
          isBusy={isBusy}
        />
      </Stack>
    </form>
  );
}

function ProductionNote() {
  const { t } = useTranslation('keys');
  return (
    <Group gap="xs">
      <EnvironmentBadge environment="production" />
      <Text size="sm">{t('form.production')}</Text>
    </Group>
  );
}

function NameFields({ form }: { readonly form: KeyForm }) {
  const { t } = useTranslation('keys');
  return (
    <>
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
    </>
  );
}

function ExpiryFields({ form, canKeepExpiry }: { readonly form: KeyForm; readonly canKeepExpiry: boolean }) {
  const { t } = useTranslation('keys');
  const choices = EXPIRIES.filter((each: Expiry) => canKeepExpiry || each !== 'kept');
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
