import { Alert, Button, Fieldset, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { TriangleAlert } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { LIMITS } from '../../../../../src/kernel/limits.ts';
import { configureProxy } from '../../../../wire/proxy.ts';
import { useChange } from '../../api/hooks.ts';
import { ConfirmDialog, type ConfirmDialogProps } from '../../parts/confirm-dialog.tsx';
import { ErrorAlert, useErrorText } from '../../parts/error-alert.tsx';
import { useNotifyResult } from '../../parts/notifications.tsx';
import { Panel } from '../../parts/panel.tsx';
import { type Changes, findFaultySetting, toSettings } from '../../parts/setting-changes.ts';
import { SettingField } from '../../parts/setting-field.tsx';
import { SettingName } from '../../parts/setting-name.tsx';
import { useCan, useTenant } from '../../session/tenant.ts';
import type { Configuration } from './key-panels.tsx';

type Setting = Configuration['settings'][number];

/** Returns true when a password is set without a user name, because the proxy then never sends it. */
function isPasswordUnused(settings: readonly Setting[], changes: Changes): boolean {
  const willBeSet = (setting: string): boolean =>
    settings.some(
      ({ name, is_set }) => name === setting && (changes[name] === undefined ? is_set : changes[name] !== ''),
    );
  return willBeSet('wssec.password') && !willBeSet('wssec.username');
}

/** Groups settings by prefix, in the order of the service. */
function groupByPrefix(settings: readonly Setting[]): readonly (readonly [string, readonly Setting[]])[] {
  const groupOf = ({ name }: Setting): string => name.split('.')[0] ?? '';
  return [...new Set(settings.map(groupOf))].map(
    (group) => [group, settings.filter((setting) => groupOf(setting) === group)] as const,
  );
}

/** Returns the description of a setting; unknown ones keep the text of the service. */
function useDescriptionText(): (setting: Setting) => string {
  const { t, i18n } = useTranslation('proxy');
  return ({ name, description }) => {
    const key = `settings.descriptions.${name}`;
    return i18n.exists(`proxy:${key}`) ? t(key as 'settings.descriptions.jose.content') : description;
  };
}

export function SettingsPanel({ settings }: { readonly settings: readonly Setting[] }) {
  const { t } = useTranslation('proxy');
  const { environment } = useTenant();
  const mayWrite = useCan()('proxy:write');
  const [changes, setChanges] = useState<Changes>({});
  const [isConfirming, setConfirming] = useState(false);
  const { save, isBusy, error, faultOf } = useSave(changes, () => setChanges({}));
  const names = Object.keys(changes);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (names.length === 0) return;
    if (environment === 'production') setConfirming(true);
    else save(() => undefined);
  };
  return (
    <Panel title={t('settings.title')} description={t('settings.text')}>
      <form onSubmit={submit}>
        <Stack gap="lg">
          {groupByPrefix(settings).map(([group, members]) => (
            <SettingGroup
              key={group}
              {...{ group, members, changes, faultOf }}
              onChange={mayWrite ? setChanges : undefined}
            />
          ))}
          {isPasswordUnused(settings, changes) && (
            <Alert color="yellow" role="status" icon={<TriangleAlert size={18} aria-hidden />}>
              {t('settings.noUsername')}
            </Alert>
          )}
          {error !== null && <ErrorAlert error={error} />}
          {mayWrite && <Buttons count={names.length} isBusy={isBusy} onReset={() => setChanges({})} />}
        </Stack>
      </form>
      <SaveDialog
        opened={isConfirming}
        onClose={() => setConfirming(false)}
        onConfirm={() => save(() => setConfirming(false))}
        {...{ names, isBusy }}
      />
    </Panel>
  );
}

interface SaveDialogProps extends Pick<ConfirmDialogProps, 'opened' | 'onClose' | 'onConfirm' | 'isBusy'> {
  /** Names of the changed settings. */
  readonly names: readonly string[];
}

function SaveDialog({ names, ...props }: SaveDialogProps) {
  const { t } = useTranslation('proxy');
  const { environment } = useTenant();
  return (
    <ConfirmDialog {...props} title={t('settings.save')} environment={environment} confirmLabel={t('settings.save')}>
      {names.map((name) => (
        <Text key={name} size="sm">
          <SettingName name={name} />
        </Text>
      ))}
    </ConfirmDialog>
  );
}

interface SettingGroupProps {
  readonly group: string;
  readonly members: readonly Setting[];
  readonly changes: Changes;
  /** Undefined when the user has no permission. */
  readonly onChange: ((changes: Changes) => void) | undefined;
  readonly faultOf: (name: string) => string | undefined;
}

function SettingGroup({ group, members, changes, onChange, faultOf }: SettingGroupProps) {
  const { t, i18n } = useTranslation('proxy');
  const descriptionText = useDescriptionText();
  return (
    <Fieldset
      variant="unstyled"
      legend={
        <Text span fw={600} size="sm">
          {i18n.exists(`proxy:settings.group.${group}`) ? t(`settings.group.${group as 'jose'}`) : group}
        </Text>
      }
    >
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md" mt="xs">
        {members.map((setting) => (
          <SettingField
            key={setting.name}
            setting={setting}
            description={descriptionText(setting)}
            choices={setting.choices}
            maxLength={LIMITS.proxySettingCharacters}
            changes={changes}
            onChange={onChange}
            error={faultOf(setting.name)}
          />
        ))}
      </SimpleGrid>
    </Fieldset>
  );
}

function Buttons({
  count,
  isBusy,
  onReset,
}: {
  readonly count: number;
  readonly isBusy: boolean;
  readonly onReset: () => void;
}) {
  const { t } = useTranslation('proxy');
  return (
    <Group gap="xs">
      <Button type="submit" disabled={count === 0} loading={isBusy}>
        {t('settings.save')}
      </Button>
      {count > 0 && (
        <>
          <Button variant="subtle" color="gray" onClick={onReset}>
            {t('settings.reset')}
          </Button>
          <Text size="sm" c="dimmed" role="status">
            {t('settings.unsaved', { count })}
          </Text>
        </>
      )}
    </Group>
  );
}

function useSave(changes: Changes, onSaved: () => void) {
  const { t } = useTranslation('proxy');
  const { account, environment } = useTenant();
  const notifyResult = useNotifyResult();
  const textOf = useErrorText();
  const change = useChange(configureProxy);
  const settings = toSettings(changes);
  const save = (onEnd: () => void): void =>
    change.mutate(
      { params: { account, environment }, body: { settings } },
      {
        onSettled: onEnd,
        onSuccess: ({ approval }) => {
          notifyResult(approval, t('settings.saved'));
          onSaved();
        },
      },
    );
  const { error } = change;
  const atFault = findFaultySetting(error?.field, change.variables?.body?.settings ?? []);
  const isAtField = atFault !== undefined && Object.hasOwn(changes, atFault);
  return {
    save,
    isBusy: change.isPending,
    error: isAtField ? null : error,
    faultOf: (name: string) => (error !== null && isAtField && name === atFault ? textOf(error) : undefined),
  };
}
