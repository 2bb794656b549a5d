import { TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { LIMITS } from '../../../../../src/kernel/limits.ts';
import { renamePasskey } from '../../../../wire/profile.ts';
import { useChange } from '../../api/hooks.ts';
import { useFieldErrors } from '../../parts/field-errors.ts';
import { DialogForm, FormDialog } from '../../parts/form-dialog.tsx';
import { notifySuccess } from '../../parts/notifications.tsx';
import type { Profile } from './profile.ts';

type Factor = Profile['factors'][number];

interface DialogProps {
  readonly opened: boolean;
  readonly passkey: Factor | undefined;
  readonly onClose: () => void;
}

export function RenamePasskeyDialog({ opened, passkey, onClose }: DialogProps) {
  const { t } = useTranslation('profile');
  return (
    <FormDialog opened={opened} onClose={onClose} title={t('renameTitle', { label: passkey?.label ?? '' })}>
      {passkey !== undefined && <RenameForm passkey={passkey} onClose={onClose} />}
    </FormDialog>
  );
}

function RenameForm({ passkey, onClose }: { readonly passkey: Factor; readonly onClose: () => void }) {
  const { t } = useTranslation('profile');
  const form = useForm({ initialValues: { label: passkey.label } });
  const fieldErrors = useFieldErrors(form);
  const rename = useChange(renamePasskey);
  const save = form.onSubmit(({ label }) =>
    rename.mutate(
      { params: { id: passkey.id }, body: { label: label.trim() } },
      {
        onSuccess: () => {
          notifySuccess(t('renamed'));
          onClose();
        },
        onError: fieldErrors.onError,
      },
    ),
  );
  return (
    <DialogForm
      onSubmit={save}
      onCancel={onClose}
      label={t('rename')}
      isBusy={rename.isPending}
      error={fieldErrors.rest}
    >
      <TextInput
        label={t('name')}
        description={t('labelHint')}
        maxLength={LIMITS.factorLabelCharacters}
        data-autofocus
        {...form.getInputProps('label')}
      />
    </DialogForm>
  );
}
