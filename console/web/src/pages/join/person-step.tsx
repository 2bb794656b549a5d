import { Button, Input, SegmentedControl, Stack, TextInput } from '@mantine/core';
import { type GetInputPropsReturnType, useForm } from '@mantine/form';
import { useId } from 'react';
import { useTranslation } from 'react-i18next';
import { enroll, LANGUAGES } from '../../../../wire/session.ts';
import { call, setCsrfToken } from '../../api/call.ts';
import { useOnce } from '../../api/hooks.ts';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { useFieldErrors } from '../../parts/field-errors.ts';
import { NewPassword } from '../../parts/new-password.tsx';
import { isLanguage, type Language, setLanguage } from '../../text/index.ts';
import { LANGUAGE_NAMES } from '../../text/language-names.ts';
import type { Enrollment, InvitationView } from './enrollment.ts';

interface PersonStepProps {
  readonly secret: string;
  readonly invitation: InvitationView;
  readonly onSubmitted: (enrollment: Enrollment) => void;
}

export function PersonStep({ secret, invitation, onSubmitted }: PersonStepProps) {
  const { t, i18n } = useTranslation('join');
  const isReset = invitation.kind === 'reset';
  const language: Language = isLanguage(i18n.language) ? i18n.language : 'en';
  const form = useForm({ initialValues: { name: '', email: invitation.email ?? '', password: '' } });
  const fieldErrors = useFieldErrors(form);
  const submit = useOnce<Enrollment>({
    mutationFn: () => call(enroll, { body: toBody(form.getValues(), secret, invitation, language) }),
    onSuccess: (enrollment) => {
      setCsrfToken(enrollment.csrf_token);
      onSubmitted(enrollment);
    },
    onError: fieldErrors.onError,
  });
  return (
    <form onSubmit={form.onSubmit(() => submit.mutate())}>
      <Stack gap="md">
        {fieldErrors.rest && <ErrorAlert error={fieldErrors.rest} isFocused />}
        {!isReset && (
          <TextInput
            label={t('name')}
            autoComplete="name"
            required
            withAsterisk={false}
            autoFocus
            {...form.getInputProps('name')}
          />
        )}
        <EmailField isKnown={invitation.email !== null} {...form.getInputProps('email')} />
        <NewPassword
          label={isReset ? t('newPassword') : t('password')}
          value={form.values.password}
          onChange={(password) => form.setFieldValue('password', password)}
          error={form.errors['password']}
        />
        {!isReset && <LanguageChoice language={language} />}
        <Button type="submit" size="md" loading={submit.isPending}>
          {t('create')}
        </Button>
      </Stack>
    </form>
  );
}

/** Password managers store the address with the password, so it is shown even if it is known. */
function EmailField({ isKnown, ...field }: { readonly isKnown: boolean } & GetInputPropsReturnType) {
  const { t } = useTranslation('join');
  return (
    <TextInput
      label={t('email')}
      description={t('emailHint')}
      type="email"
      autoComplete="username"
      required
      withAsterisk={false}
      readOnly={isKnown}
      variant={isKnown ? 'filled' : 'default'}
      {...field}
    />
  );
}

function LanguageChoice({ language }: { readonly language: Language }) {
  const { t } = useTranslation('join');
  const id = useId();
  return (
    <div>
      <Input.Label labelElement="div" id={id}>
        {t('language')}
      </Input.Label>
      <SegmentedControl
        fullWidth
        aria-labelledby={id}
        value={language}
        onChange={(value) => isLanguage(value) && void setLanguage(value)}
        data={LANGUAGES.map((value) => ({ value, label: LANGUAGE_NAMES[value] }))}
      />
    </div>
  );
}

interface PersonValues {
  readonly name: string;
  readonly email: string;
  readonly password: string;
}

function toBody(
  { name, email, password }: PersonValues,
  invitation: string,
  invited: InvitationView,
  language: Language,
) {
  if (invited.kind === 'reset') return { invitation, password };
  return { invitation, password, language, name: name.trim(), ...(invited.email === null && { email: email.trim() }) };
}
