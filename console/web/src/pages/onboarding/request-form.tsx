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
import { getPaymentsState, type Onboarding } from './onboarding-state.ts';

interface RequestDialogProps {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly onboarding: Onboarding;
  /** Environment whose field gets the focus. */
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

/** The chosen processors by environment; empty: not requested. */
interface RequestValues extends Record<Environment, string> {
  note: string;
}

function useRequestForm(suggested: Environment) {
  const { t } = useTranslation('onboarding');
  const max = LIMITS.noteCharacters;
  const findMissing = (_: string, { sandbox, production }: RequestValues) =>
    sandbox === '' && production === '' ? t('form.missing') : null;
  return useForm<RequestValues>({
    initialValues: { sandbox: '', production: '', note: '' },
    validate: {
      [suggested]: findMissing,
      note: (note) =>
        containsIssuedPan(note) ? t('form.card') : [...note].length > max ? t('form.long', { max }) : null,
    },
  });
}

function RequestForm({ onClose, onboarding, suggested }: Omit<RequestDialogProps, 'opened'>) {
  const { t } = useTranslation('onboarding');
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
      {SANDBOX_FIRST.map((environment) => (
        <ProcessorChoice
          key={environment}
          {...{ form, onboarding, environment }}
          isSuggested={environment === suggested}
        />
      ))}
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
  readonly onboarding: Onboarding;
  readonly environment: Environment;
  readonly isSuggested: boolean;
}

/** Chooses the processor of an environment. A second request there is possible once the first one is decided. */
function ProcessorChoice({ form, onboarding, environment, isSuggested }: ProcessorChoiceProps) {
  const { t } = useTranslation('onboarding');
  const { processors } = onboarding;
  const state = getPaymentsState(onboarding, environment);
  const chosen = processors.find(({ name }) => name === form.values[environment]);
  const choices = processors.map(({ name, is_simulator }) => ({
    value: name,
    label: is_simulator ? t('form.simulator', { name }) : name,
  }));
  return (
    <>
      <NativeSelect
        label={t(`form.processorIn.${environment}`)}
        description={state === 'missing' ? undefined : t(`form.state.${state}`)}
        disabled={state === 'waiting'}
        data-autofocus={isSuggested || undefined}
        data={[{ value: '', label: t('form.notRequested') }, ...choices]}
        {...form.getInputProps(environment)}
      />
      {chosen?.is_simulator && environment === 'production' && (
        <Alert color="yellow" icon={<TriangleAlert size={18} aria-hidden />}>
          {t('form.simulatorInProduction')}
        </Alert>
      )}
    </>
  );
}
