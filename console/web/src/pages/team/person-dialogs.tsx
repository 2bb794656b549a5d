import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ACCOUNT_ROLES } from '../../../../people/roles.ts';
import type { CallError } from '../../api/call.ts';
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx';
import { DialogForm, FormDialog } from '../../parts/form-dialog.tsx';
import { notifySuccess } from '../../parts/notifications.tsx';
import type { PersonalLink } from './link-dialog.tsx';
import type { PersonAction } from './people-table.tsx';
import { type AccountRole, RoleChoice } from './role-choice.tsx';
import type { Person, TeamCalls } from './team-calls.ts';

interface PersonDialogsProps {
  readonly calls: TeamCalls;
  /** Open dialog and its user; both stay while the dialog closes. */
  readonly opened: boolean;
  readonly action?: PersonAction;
  readonly person?: Person;
  readonly onClose: () => void;
  readonly onLink: (link: PersonalLink) => void;
}

/** Dialogs that change the role, remove a user, or reset the sign-in. */
export function PersonDialogs(props: PersonDialogsProps) {
  const { calls, action, person, opened } = props;
  if (person === undefined) return null;
  const about = { ...props, person };
  const isOpen = (each: PersonAction): boolean => opened && action === each;
  return (
    <>
      {calls.changeRole && <ChangeRoleDialog {...about} opened={isOpen('change')} />}
      {calls.remove && <RemoveDialog {...about} opened={isOpen('remove')} />}
      {calls.reset && <ResetDialog {...about} opened={isOpen('reset')} />}
    </>
  );
}

type PersonDialogProps = PersonDialogsProps & { readonly person: Person };

function ChangeRoleDialog({ person, opened, onClose, calls }: PersonDialogProps) {
  const { t } = useTranslation('team');
  return (
    <FormDialog opened={opened} onClose={onClose} title={t('change.title', { name: person.name })}>
      <RoleForm person={person} onClose={onClose} calls={calls} />
    </FormDialog>
  );
}

const roleOf = ({ role }: Person): AccountRole => ACCOUNT_ROLES.find((each) => each === role) ?? 'auditor';

function RoleForm({ person, onClose, calls }: Pick<PersonDialogProps, 'person' | 'onClose' | 'calls'>) {
  const { t } = useTranslation('team');
  const [role, setRole] = useState(() => roleOf(person));
  const { changeRole } = calls;
  const onSent = (isDone: boolean): void => {
    onClose();
    if (isDone) notifySuccess(t('change.done'));
  };
  return (
    <DialogForm
      onSubmit={() => changeRole?.send({ person: person.id, role }, onSent)}
      onCancel={onClose}
      label={t('change.save')}
      isBusy={changeRole?.isBusy ?? false}
      error={changeRole?.error ?? null}
    >
      <RoleChoice value={role} onChange={setRole} />
    </DialogForm>
  );
}

function RemoveDialog({ person, opened, onClose, calls: { remove, removeText } }: PersonDialogProps) {
  const { t } = useTranslation('team');
  const { name } = person;
  const done = (): void => {
    onClose();
    notifySuccess(t('remove.done', { name }));
  };
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title={t('remove.title', { name })}
      confirmLabel={t('remove.confirm')}
      onConfirm={() => remove?.send(person.id, done)}
      isBusy={remove?.isBusy ?? false}
      error={remove?.error ?? null}
      isDangerous
    >
      {t(removeText, { name })}
    </ConfirmDialog>
  );
}

function ResetDialog({ person, opened, onClose, onLink, calls: { reset } }: PersonDialogProps) {
  const { t } = useTranslation('team');
  const [error, setError] = useState<CallError | null>(null);
  const { name } = person;
  const close = (): void => {
    setError(null);
    onClose();
  };
  const onResetLink = (link: Omit<PersonalLink, 'text'>): void => {
    close();
    onLink({ ...link, text: t('link.resetText', { name }) });
  };
  return (
    <ConfirmDialog
      opened={opened}
      onClose={close}
      title={t('reset.title', { name })}
      confirmLabel={t('reset.confirm')}
      onConfirm={() => reset?.send(person.id, { onLink: onResetLink, onApprovalPending: close, onError: setError })}
      isBusy={reset?.isBusy ?? false}
      error={error}
    >
      {t('reset.text', { name })}
    </ConfirmDialog>
  );
}
