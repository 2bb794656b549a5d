import { Select } from '@mantine/core';
import { type UseFormReturnType, useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { configureProxy } from '../../../../wire/proxy.ts';
import { useChange } from '../../api/hooks.ts';
import { useFieldErrors } from '../../parts/field-errors.ts';
import { DialogForm } from '../../parts/form-dialog.tsx';
import { useNotifyResult } from '../../parts/notifications.tsx';
import { PasswordField } from '../../parts/password-field.tsx';
import { useTenant } from '../../session/tenant.ts';
import { KeyInput } from './key-input.tsx';

const KEY_KINDS = ['processor', 'merchant', 'certificate'] as const;
export type KeyKind = (typeof KEY_KINDS)[number];

/** Minutes until the upload becomes active. */
const OVERLAP_MINUTES = { now: 0, hour: 60, day: 1440, week: 10_080, month: 43_200 } as const;
type Overlap = keyof typeof OVERLAP_MINUTES;
const OVERLAP_NAMES = Object.keys(OVERLAP_MINUTES) as Overlap[];

const FIELDS = {
  processor: 'processor_public_key',
  merchant: 'merchant_private_key',
  certificate: 'merchant_certificate',
} as const satisfies Record<KeyKind, string>;

interface Values {
  file: string;
  passphrase: string;
  certificate: string;
  overlap: Overlap;
}

interface UploadFormProps {
  readonly kind: KeyKind;
  /** An active version exists that can overlap. */
  readonly isReplacing: boolean;
  readonly onDone: () => void;
}

const toBody = (kind: KeyKind, { file, passphrase, certificate, overlap }: Values, isReplacing: boolean) => ({
  [FIELDS[kind]]: file,
  ...(kind === 'merchant' && passphrase !== '' && { passphrase }),
  ...(kind === 'merchant' && certificate.trim() !== '' && { merchant_certificate: certificate }),
  ...(isReplacing && { overlap_minutes: OVERLAP_MINUTES[overlap] }),
});

export function UploadForm({ kind, isReplacing, onDone }: UploadFormProps) {
  const { t } = useTranslation('proxy');
  const { account, environment } = useTenant();
  const notifyResult = useNotifyResult();
  const change = useChange(configureProxy);
  const form = useForm<Values>({
    initialValues: { file: '', passphrase: '', certificate: '', overlap: 'now' },
    validate: { file: (text) => (text.trim() === '' ? t('upload.needed') : null) },
  });
  const secondFile = kind === 'merchant' ? { merchant_certificate: 'certificate' } : {};
  const fieldErrors = useFieldErrors(form, { ...secondFile, [FIELDS[kind]]: 'file', overlap_minutes: 'overlap' });
  const send = (values: Values): void =>
    change.mutate(
      { params: { account, environment }, body: toBody(kind, values, isReplacing) },
      {
        onError: fieldErrors.onError,
        onSuccess: ({ approval }) => {
          notifyResult(approval, t('upload.saved'));
          onDone();
        },
      },
    );
  return (
    <DialogForm
      onSubmit={form.onSubmit(send)}
      onCancel={onDone}
      label={t('upload.save')}
      isBusy={change.isPending}
      error={fieldErrors.rest}
    >
      <KeyInput
        label={t(`keys.${kind}`)}
        isSecret={kind === 'merchant'}
        {...(kind === 'certificate' && { hint: t('upload.certificateHint') })}
        value={form.values.file}
        onChange={(text) => form.setFieldValue('file', text)}
        error={form.errors['file'] as string | undefined}
      />
      {kind === 'merchant' && <MerchantFields form={form} />}
      {isReplacing && <OverlapField form={form} />}
    </DialogForm>
  );
}

/** Passphrase of a private key, and the certificate that goes with it. */
function MerchantFields({ form }: { readonly form: UseFormReturnType<Values> }) {
  const { t } = useTranslation('proxy');
  return (
    <>
      <PasswordField
        label={t('upload.passphrase')}
        description={t('upload.passphraseHint')}
        autoComplete="off"
        {...form.getInputProps('passphrase')}
      />
      <KeyInput
        label={t('upload.withCertificate')}
        hint={t('upload.withCertificateHint')}
        value={form.values.certificate}
        onChange={(text) => form.setFieldValue('certificate', text)}
        error={form.errors['certificate'] as string | undefined}
      />
    </>
  );
}

function OverlapField({ form }: { readonly form: UseFormReturnType<Values> }) {
  const { t } = useTranslation('proxy');
  return (
    <Select
      label={t('upload.overlap')}
      description={t('upload.overlapHint')}
      data={OVERLAP_NAMES.map((value) => ({ value, label: t(`upload.overlapChoices.${value}`) }))}
      allowDeselect={false}
      {...form.getInputProps('overlap')}
    />
  );
}
