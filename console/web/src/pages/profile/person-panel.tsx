import { Button, Group, NativeSelect, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { BROWSER_TIME_ZONE } from '../../../../people/time-zone.ts';
import { editProfile } from '../../../../wire/profile.ts';
import { LANGUAGES } from '../../../../wire/session.ts';
import { useChange } from '../../api/hooks.ts';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { useFieldErrors } from '../../parts/field-errors.ts';
import { notifySuccess } from '../../parts/notifications.tsx';
import { Panel } from '../../parts/panel.tsx';
import { localTimeZone } from '../../parts/time-zone.tsx';
import { type Session, useSession, useSessionControls } from '../../session/session.tsx';
import { isLanguage, type Language } from '../../text/index.ts';
import { LANGUAGE_NAMES } from '../../text/language-names.ts';
import { ChangeEmailDialog } from './change-email-dialog.tsx';

export function PersonPanel() {
  const { t } = useTranslation('profile');
  const { person } = useSession();
  const { setSession } = useSessionControls();
  const form = useForm({
    initialValues: { name: person.name, language: person.language, time_zone: person.time_zone },
  });
  const fieldErrors = useFieldErrors(form);
  const [isChangingEmail, setChangingEmail] = useState(false);
  const edit = useChange(editProfile);
  const onSuccess = (session: Session): void => {
    fieldErrors.clear();
    setSession(session);
    form.resetDirty();
    notifySuccess(t('saved'));
  };
  const save = form.onSubmit(({ name, ...choices }) =>
    edit.mutate({ body: { name: name.trim(), ...choices } }, { onSuccess, onError: fieldErrors.onError }),
  );
  return (
    <Panel title={t('person')}>
      <form onSubmit={save}>
        <Stack gap="md">
          {fieldErrors.rest && <ErrorAlert error={fieldErrors.rest} />}
          <TextInput
            label={t('name')}
            autoComplete="name"
            required
            withAsterisk={false}
            maw={420}
            {...form.getInputProps('name')}
          />
          <EmailField email={person.email} onChange={() => setChangingEmail(true)} />
          <LanguageField value={form.values.language} onChange={(value) => form.setFieldValue('language', value)} />
          <NativeSelect
            label={t('timeZone')}
            description={t('timeZoneHint')}
            maw={420}
            data={useTimeZoneOptions(person.time_zone)}
            {...form.getInputProps('time_zone')}
          />
          <Group>
            <Button type="submit" loading={edit.isPending} disabled={!form.isDirty()}>
              {t('save')}
            </Button>
          </Group>
        </Stack>
      </form>
      <ChangeEmailDialog opened={isChangingEmail} onClose={() => setChangingEmail(false)} />
    </Panel>
  );
}

/** Returns the choices: the zone of the browser, UTC, then all zones that the browser knows, and the current one. */
function useTimeZoneOptions(current: string) {
  const { t } = useTranslation('profile');
  const names = new Set(['UTC', ...Intl.supportedValuesOf('timeZone'), current]);
  names.delete(BROWSER_TIME_ZONE);
  return [
    { value: BROWSER_TIME_ZONE, label: t('timeZoneOfBrowser', { zone: localTimeZone() }) },
    ...[...names].map((name) => ({ value: name, label: name.replaceAll('_', ' ') })),
  ];
}

function EmailField({ email, onChange }: { readonly email: string; readonly onChange: () => void }) {
  const { t } = useTranslation('profile');
  return (
    <Group align="flex-end" gap="xs">
      <TextInput
        label={t('email')}
        description={t('emailHint')}
        value={email}
        readOnly
        flex="1 1 14rem"
        maw={420}
        variant="filled"
      />
      <Button variant="default" onClick={onChange}>
        {t('changeEmail')}
      </Button>
    </Group>
  );
}

interface LanguageFieldProps {
  readonly value: Language;
  readonly onChange: (language: Language) => void;
}

function LanguageField({ value, onChange }: LanguageFieldProps) {
  const { t } = useTranslation('profile');
  return (
    <NativeSelect
      label={t('language')}
      maw={420}
      data={LANGUAGES.map((each) => ({ value: each, label: LANGUAGE_NAMES[each] }))}
      value={value}
      onChange={(event) => isLanguage(event.currentTarget.value) && onChange(event.currentTarget.value)}
    />
  );
}
