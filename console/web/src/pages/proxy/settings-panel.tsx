import { Alert, Button, Fieldset, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { TriangleAlert } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { LIMITS } from '../../../../../src/kernel/limits.ts';
import { configureProxy } from '../../../../wire/proxy.ts';
import { useChange } from '../../api/hooks.ts';
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx';
import { ErrorAlert, useErrorText } from '../../parts/error-alert.tsx';
import { notifySuccess, useNotifyApproval } from '../../parts/notifications.tsx';
import { Panel } from '../../parts/panel.tsx';
import { type Changes, findFaultySetting, toSettings } from '../../parts/setting-changes.ts';
import { SettingField } from '../../parts/setting-field.tsx';
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
  const { t, i18n } = useTranslation('proxy');
  const { environment } = useTenant();
  const mayWrite = useCan()('proxy:write');
  const descriptionText = useDescriptionText();
  const [changes, setChanges] = useState<Changes>({});
  const [isConfirming, setConfirming] = useState(false);
  const { save, isBusy, error, faultOf } = useSave(changes, () => setChanges({}));
  const count = Object.keys(changes).length;
  const submit = (): void => {
    if (environment === 'production') setConfirming(true);
    else save(() => undefined);
  };
  return (
    <Panel title={t('settings.title')} description={t('settings.text')}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (count > 0) submit();
        }}
      >
        <Stack gap="lg">
          {groupByPrefix(settings).map(([group, members]) => (
            <Fieldset
              key={group}
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
                    onChange={mayWrite ? setChanges : undefined}
                    error={faultOf(setting.name)}
                  />
                ))}
              </SimpleGrid>
            </Fieldset>
          ))}
          {isPasswordUnused(settings, changes) && (
            <Alert color="yellow" role="status" icon={<TriangleAlert size={18} aria-hidden />}>
              {t('settings.noUsername')}
            </Alert>
          )}
          {error !== null && <ErrorAlert error={error} />}
          {mayWrite && <Buttons count={count} isBusy={isBusy} onReset={() => setChanges({})} />}
        </Stack>
      </form>
      <ConfirmDialog
        opened={isConfirming}
        onClose={() => setConfirming(false)}
        title={t('settings.save')}
        environment={environment}
        confirmLabel={t('settings.save')}
        onConfirm={() => save(() => setConfirming(false))}
        isBusy={isBusy}
      >
        {Object.keys(changes).map((name) => (
          <Text key={name} size="sm" ff="monospace">
            {name}
          </Text>
        ))}
      </ConfirmDialog>
    </Panel>
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
  const noteApproval = useNotifyApproval();
  const textOf = useErrorText();
  const change = useChange(configureProxy);
  const settings = toSettings(changes);
  const save = (onEnd: () => void): void =>
    change.mutate(
      { params: { account, environment }, body: { settings } },
      {
        onSettled: onEnd,
        onSuccess: ({ approval }) => {
          if (approval === null) notifySuccess(t('settings.saved'));
          else noteApproval(approval);
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
