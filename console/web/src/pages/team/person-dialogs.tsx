import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ACCOUNT_ROLES } from '../../../../people/roles.ts';
import type { CallError } from '../../api/call.ts';
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx';
import { DialogForm, FormDialog } from '../../parts/form-dialog.tsx';
import { noteDone } from '../../parts/notices.tsx';
import type { PersonalLink } from './links.tsx';
import type { PersonAction } from './people-table.tsx';
import { type AccountRole, RoleChoice } from './role-choice.tsx';
import type { Person, TeamCalls } from './team-calls.ts';

interface PersonDialogsProps {
  readonly calls: TeamCalls;
  /** Which dialog is open, and about whom; these stay while it closes. */
  readonly opened: boolean;
  readonly action: PersonAction | undefined;
  readonly person: Person | undefined;
  readonly onClose: () => void;
  readonly onLink: (link: PersonalLink) => void;
}

/** Change the role, remove, make a new way in. */
export function PersonDialogs(props: PersonDialogsProps) {
  const { calls, action, person, opened } = props;
  if (person === undefined) return null;
  const about = { ...props, person };
  const isOpen = (each: PersonAction): boolean => opened && action === each;
  return (
    <>
      {calls.changeRole && <ChangeRole {...about} opened={isOpen('change')} />}
      {calls.remove && <Remove {...about} opened={isOpen('remove')} />}
      {calls.reset && <Reset {...about} opened={isOpen('reset')} />}
    </>
  );
}

type AboutPerson = PersonDialogsProps & { readonly person: Person };

function ChangeRole({ person, opened, onClose, calls }: AboutPerson) {
  const { t } = useTranslation('team');
  return (
    <FormDialog opened={opened} onClose={onClose} title={t('change.title', { name: person.name })}>
      <RoleForm person={person} onClose={onClose} calls={calls} />
    </FormDialog>
  );
}

const roleOf = ({ role }: Person): AccountRole => ACCOUNT_ROLES.find((each) => each === role) ?? 'auditor';

function RoleForm({ person, onClose, calls }: Pick<AboutPerson, 'person' | 'onClose' | 'calls'>) {
  const { t } = useTranslation('team');
  const [role, setRole] = useState(() => roleOf(person));
  const { changeRole } = calls;
  const sent = (isDone: boolean): void => {
    onClose();
    if (isDone) noteDone(t('change.done'));
  };
  return (
    <DialogForm
      onSubmit={() => changeRole?.send({ person: person.id, role }, sent)}
      onCancel={onClose}
      label={t('change.save')}
      isBusy={changeRole?.isBusy ?? false}
      error={changeRole?.error ?? null}
    >
      <RoleChoice value={role} onChange={setRole} />
    </DialogForm>
  );
}

function Remove({ person, opened, onClose, calls: { remove, removeText } }: AboutPerson) {
  const { t } = useTranslation('team');
  const { name } = person;
  const done = (): void => {
    onClose();
    noteDone(t('remove.done', { name }));
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

function Reset({ person, opened, onClose, onLink, calls: { reset } }: AboutPerson) {
  const { t } = useTranslation('team');
  const [error, setError] = useState<CallError | null>(null);
  const { name } = person;
  const close = (): void => {
    setError(null);
    onClose();
  };
  const take = (link: Omit<PersonalLink, 'text'>): void => {
    close();
    onLink({ ...link, text: t('link.resetText', { name }) });
  };
  return (
    <ConfirmDialog
      opened={opened}
      onClose={close}
      title={t('reset.title', { name })}
      confirmLabel={t('reset.confirm')}
      onConfirm={() => reset?.send(person.id, { onLink: take, onWaiting: close, onError: setError })}
      isBusy={reset?.isBusy ?? false}
      error={error}
    >
      {t('reset.text', { name })}
    </ConfirmDialog>
  );
}
