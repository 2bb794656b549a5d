import { Anchor, Group, Select, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { PasswordField } from './password-field.tsx';
import { type Changes, displayValue, type Setting, withChange, withoutChange } from './setting-changes.ts';
import { SettingName } from './setting-name.tsx';

interface SettingFieldProps {
  readonly setting: Setting;
  /** Description of the setting. */
  readonly description: string;
  /** Accepted values; empty for free text. */
  readonly choices: readonly string[];
  readonly maxLength: number;
  readonly changes: Changes;
  /** Undefined when the user has no permission. */
  readonly onChange: ((changes: Changes) => void) | undefined;
  readonly error: string | undefined;
  readonly isRequired?: boolean;
}

/** Field of a setting: choice, text, or a secret that is never shown. */
export function SettingField(props: SettingFieldProps) {
  const { setting, description, choices, maxLength, changes, onChange, error, isRequired = false } = props;
  const { t } = useTranslation('proxy');
  const { name, default_value, is_secret } = setting;
  const common = {
    label: <SettingName name={name} />,
    description,
    disabled: onChange === undefined,
    error,
    required: isRequired,
  };
  if (is_secret) return <SecretField {...props} common={common} />;
  const none = default_value === null ? t('settings.noDefault') : t('settings.default', { value: default_value });
  const value = displayValue(setting, changes);
  const change = (text: string): void => onChange?.(withChange(changes, setting, text));
  if (choices.length > 0) {
    return (
      <Select
        {...common}
        data={[...choices]}
        value={value === '' ? null : value}
        placeholder={none}
        clearable
        onChange={(choice) => change(choice ?? '')}
      />
    );
  }
  return (
    <TextInput
      {...common}
      value={value}
      placeholder={none}
      maxLength={maxLength}
      autoComplete="off"
      spellCheck={false}
      onChange={(event) => change(event.currentTarget.value)}
    />
  );
}

function SecretField({
  setting,
  maxLength,
  changes,
  onChange,
  common,
}: SettingFieldProps & { readonly common: object }) {
  const { t } = useTranslation('proxy');
  const { name, is_set } = setting;
  const isRemoved = changes[name] === '';
  const present = is_set ? t('settings.secretSet') : t('settings.secretNotSet');
  return (
    <div>
      <PasswordField
        {...common}
        value={changes[name] ?? ''}
        placeholder={isRemoved ? t('settings.secretRemoved') : present}
        maxLength={maxLength}
        autoComplete="new-password"
        onChange={({ currentTarget: { value } }) =>
          onChange?.(value === '' ? withoutChange(changes, name) : withChange(changes, setting, value))
        }
      />
      {is_set && onChange !== undefined && (
        <Group justify="flex-end" mt={4}>
          <Anchor
            component="button"
            type="button"
            size="xs"
            aria-label={`${isRemoved ? t('settings.keep') : t('settings.secretRemove')}: ${name}`}
            onClick={() => onChange(isRemoved ? withoutChange(changes, name) : { ...changes, [name]: '' })}
          >
            {isRemoved ? t('settings.keep') : t('settings.secretRemove')}
          </Anchor>
        </Group>
      )}
    </div>
  );
}
