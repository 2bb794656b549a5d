import { Checkbox, Stack, Switch, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { LIMITS } from '../../../../../src/kernel/limits.ts';
import { EVENT_TYPES } from '../../../../../src/webhooks/webhook.ts';
import type { CallError } from '../../api/call.ts';
import { DualControlNote, useDualControl } from '../../parts/dual-control.tsx';
import { useFieldErrors } from '../../parts/field-errors.ts';
import { DialogForm } from '../../parts/form-dialog.tsx';
import type { WebhookForm } from './webhook-values.ts';

interface WebhookFieldsProps {
  readonly initial: WebhookForm;
  readonly label: string;
  /** A new webhook is always enabled. */
  readonly hasState: boolean;
  readonly isBusy: boolean;
  readonly onCancel: () => void;
  readonly onSubmit: (values: WebhookForm, onError: (error: CallError) => void) => void;
}

export function WebhookFields({ initial, label, hasState, isBusy, onCancel, onSubmit }: WebhookFieldsProps) {
  const { t } = useTranslation('webhooks');
  const { t: tParts } = useTranslation('parts');
  const needsApproval = useDualControl();
  const form = useForm<WebhookForm>({
    initialValues: initial,
    validate: {
      url: (text) => (text.trim() === '' ? t('form.urlMissing') : null),
      events: (events, { isAll }) => (!isAll && events.length === 0 ? t('form.eventsMissing') : null),
    },
  });
  const fieldErrors = useFieldErrors(form);
  return (
    <DialogForm
      label={needsApproval ? tParts('requestApproval') : label}
      isBusy={isBusy}
      error={fieldErrors.rest}
      onCancel={onCancel}
      onSubmit={form.onSubmit((values) => onSubmit(values, fieldErrors.onError))}
    >
      {needsApproval && <DualControlNote />}
      <TextInput
        label={t('form.url')}
        description={t('form.urlHint')}
        type="url"
        inputMode="url"
        autoComplete="off"
        spellCheck={false}
        maxLength={LIMITS.webhookUrlCharacters}
        required
        data-autofocus
        {...form.getInputProps('url')}
      />
      <Checkbox label={t('form.all')} {...form.getInputProps('isAll', { type: 'checkbox' })} />
      {!form.values.isAll && (
        <Checkbox.Group label={t('form.events')} {...form.getInputProps('events')}>
          <Stack gap={6} mt={6}>
            {EVENT_TYPES.map((type) => (
              <Checkbox key={type} value={type} label={type} />
            ))}
          </Stack>
        </Checkbox.Group>
      )}
      <TextInput
        label={t('form.description')}
        maxLength={LIMITS.webhookDescriptionCharacters}
        {...form.getInputProps('description')}
      />
      {hasState && <Switch label={t('form.enabled')} {...form.getInputProps('isEnabled', { type: 'checkbox' })} />}
    </DialogForm>
  );
}
