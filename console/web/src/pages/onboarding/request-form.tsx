import { Alert, NativeSelect, Textarea } from '@mantine/core';
import { useForm } from '@mantine/form';
import { TriangleAlert } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import type { Environment } from '../../../../../src/kernel/environment.ts';
import { LIMITS } from '../../../../../src/kernel/limits.ts';
import { containsIssuedPan } from '../../../../../src/kernel/pan.ts';
import { requestActivation } from '../../../../wire/onboarding.ts';
import { useChange } from '../../api/hooks.ts';
import { useFieldErrors } from '../../parts/field-errors.ts';
import { DialogForm, FormDialog } from '../../parts/form-dialog.tsx';
import { notifySuccess } from '../../parts/notifications.tsx';
import { SANDBOX_FIRST } from '../../parts/sandbox-first.ts';
import { useMembership } from '../../session/tenant.ts';
import type { Onboarding } from './onboarding-state.ts';

interface RequestDialogProps {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly processors: Onboarding['processors'];
  /** First environment without payments. */
  readonly suggested: Environment;
}

export function RequestDialog({ opened, onClose, ...props }: RequestDialogProps) {
  const { t } = useTranslation('onboarding');
  return (
    <FormDialog opened={opened} onClose={onClose} title={t('form.title')}>
      <RequestForm {...props} onClose={onClose} />
    </FormDialog>
  );
}

interface RequestValues {
  environment: Environment;
  processor: string;
  note: string;
}

function useRequestForm(suggested: Environment) {
  const { t } = useTranslation('onboarding');
  const max = LIMITS.noteCharacters;
  return useForm<RequestValues>({
    initialValues: { environment: suggested, processor: '', note: '' },
    validate: {
      processor: (processor) => (processor === '' ? t('form.missing') : null),
      note: (note) =>
        containsIssuedPan(note) ? t('form.card') : [...note].length > max ? t('form.long', { max }) : null,
    },
  });
}

function RequestForm({ onClose, processors, suggested }: Omit<RequestDialogProps, 'opened'>) {
  const { t } = useTranslation('onboarding');
  const { t: tParts } = useTranslation('parts');
  const { account } = useMembership();
  const request = useChange(requestActivation);
  const form = useRequestForm(suggested);
  const fieldErrors = useFieldErrors(form);
  const onSuccess = (): void => {
    notifySuccess(t('form.sent'));
    onClose();
  };
  const send = form.onSubmit((body) =>
    request.mutate({ params: { account }, body }, { onError: fieldErrors.onError, onSuccess }),
  );
  return (
    <DialogForm
      label={t('form.send')}
      isBusy={request.isPending}
      error={fieldErrors.rest}
      onCancel={onClose}
      onSubmit={send}
    >
      <NativeSelect
        label={t('form.environment')}
        data={SANDBOX_FIRST.map((value) => ({ value, label: tParts(value) }))}
        {...form.getInputProps('environment')}
      />
      <ProcessorChoice form={form} processors={processors} />
      <Textarea
        label={t('form.note')}
        description={t('form.noteHint')}
        autosize
        minRows={3}
        maxRows={10}
        {...form.getInputProps('note')}
      />
    </DialogForm>
  );
}

interface ProcessorChoiceProps {
  readonly form: ReturnType<typeof useRequestForm>;
  readonly processors: Onboarding['processors'];
}

function ProcessorChoice({ form, processors }: ProcessorChoiceProps) {
  const { t } = useTranslation('onboarding');
  const chosen = processors.find(({ name }) => name === form.values.processor);
  const choices = processors.map(({ name, is_simulator }) => ({
    value: name,
    label: is_simulator ? t('form.simulator', { name }) : name,
  }));
  return (
    <>
      <NativeSelect
        label={t('form.processor')}
        required
        data-autofocus
        data={[{ value: '', label: t('form.processorPick') }, ...choices]}
        {...form.getInputProps('processor')}
      />
      {chosen?.is_simulator && form.values.environment === 'production' && (
        <Alert color="yellow" icon={<TriangleAlert size={18} aria-hidden />}>
          {t('form.simulatorInProduction')}
        </Alert>
      )}
    </>
  );
}
