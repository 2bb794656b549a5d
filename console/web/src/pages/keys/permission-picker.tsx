import { Button, Checkbox, Group, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Permission } from '../../../../../src/accounts/permission.ts';
import { Badge } from '../../parts/status-badge.tsx';
import type { KeyForm } from './key-form-state.ts';
import classes from './keys.module.css';
import {
  GROUPS,
  isPowerful,
  isPresetChosen,
  listPermissions,
  PRESET_NAMES,
  PRESETS,
  toTextKey,
} from './permissions.ts';

/** Picks permissions by preset or one by one, each with an explanation. */
export function PermissionPicker({ form }: { readonly form: KeyForm }) {
  const { t } = useTranslation('keys');
  const { error } = form.getInputProps('permissions');
  return (
    <fieldset
      className={classes['part']}
      aria-describedby={error ? 'permissions-fault' : undefined}
      data-fault={error ? true : undefined}
    >
      <legend>{t('form.permissions')}</legend>
      <Text size="sm" c="dimmed">
        {t('form.permissionsHint')}
      </Text>
      <Presets form={form} />
      {error && (
        <Text size="sm" c="var(--mantine-color-error)" id="permissions-fault">
          {error}
        </Text>
      )}
      <Checkbox.Group
        value={form.values.permissions}
        onChange={(values) => form.setFieldValue('permissions', values as Permission[])}
        aria-label={t('form.permissions')}
      >
        <div className={classes['groups']}>
          {GROUPS.map((group) => (
            <fieldset key={group} className={classes['group']}>
              <legend>{t(`group.${group}`)}</legend>
              <Stack gap={8}>
                {listPermissions(group).map((permission) => (
                  <Choice key={permission} permission={permission} />
                ))}
              </Stack>
            </fieldset>
          ))}
        </div>
      </Checkbox.Group>
    </fieldset>
  );
}

function Presets({ form }: { readonly form: KeyForm }) {
  const { t } = useTranslation('keys');
  const chosen = form.values.permissions;
  return (
    <Group gap={6} role="group" aria-label={t('form.presets')}>
      {PRESET_NAMES.map((preset) => (
        <Button
          key={preset}
          size="compact-sm"
          variant={isPresetChosen(preset, chosen) ? 'light' : 'default'}
          aria-pressed={isPresetChosen(preset, chosen)}
          onClick={() => form.setFieldValue('permissions', [...PRESETS[preset]])}
        >
          {t(`form.preset.${preset}`)}
        </Button>
      ))}
    </Group>
  );
}

function Choice({ permission }: { readonly permission: Permission }) {
  const { t } = useTranslation('keys');
  return (
    <Checkbox
      value={permission}
      label={
        <>
          {t(`permission.${toTextKey(permission)}`)}{' '}
          {isPowerful(permission) && <Badge tone="attention">{t('powerful')}</Badge>}
        </>
      }
      description={<code className={classes['mono']}>{permission}</code>}
    />
  );
}
