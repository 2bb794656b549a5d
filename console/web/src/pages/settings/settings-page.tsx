import { Anchor, Button, Group, List, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { can } from '../../../../people/roles.ts';
import { setDualControl } from '../../../../wire/approvals.ts';
import { showTeam } from '../../../../wire/team.ts';
import { useChange, useRead } from '../../api/hooks.ts';
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx';
import { notifySuccess, useNotifyResult } from '../../parts/notifications.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Badge } from '../../parts/status-badge.tsx';
import { useSessionControls } from '../../session/session.tsx';
import { useCan, useMembership } from '../../session/tenant.ts';

const COVERED_CHANGES = ['keys', 'payments', 'proxy', 'tokens', 'team', 'operator', 'settings'] as const;

export function SettingsPage() {
  const { t } = useTranslation('settings');
  return (
    <>
      <PageHeader title={t('title')} description={t('description')} />
      <DualControlPanel />
    </>
  );
}

function DualControlPanel() {
  const { t } = useTranslation('settings');
  const { dual_control: isOn } = useMembership();
  const mayChange = useCan()('account:settings');
  const [isConfirming, setConfirming] = useState(false);
  return (
    <Panel
      title={t('dualControl.title')}
      description={t('dualControl.text')}
      actions={
        <Group gap="xs">
          <Text span size="xs" c="dimmed" ff="monospace">
            dual_control
          </Text>
          <Badge tone={isOn ? 'good' : 'quiet'}>{isOn ? t('dualControl.on') : t('dualControl.off')}</Badge>
        </Group>
      }
    >
      <Stack gap={6}>
        <Text size="sm" fw={500}>
          {t('dualControl.covers')}
        </Text>
        <List size="sm" spacing={2}>
          {COVERED_CHANGES.map((each) => (
            <List.Item key={each}>{t(`dualControl.list.${each}`)}</List.Item>
          ))}
        </List>
      </Stack>
      <Text size="sm" c="dimmed">
        {t('dualControl.never')}
      </Text>
      {mayChange ? (
        <Group gap="md">
          <Button variant={isOn ? 'default' : 'filled'} onClick={() => setConfirming(true)}>
            {isOn ? t('dualControl.turnOff') : t('dualControl.turnOn')}
          </Button>
          {!isOn && <SecondPersonHint />}
        </Group>
      ) : (
        <Text size="sm" c="dimmed">
          {t('dualControl.ownerOnly')}
        </Text>
      )}
      <DualControlDialog isOn={isOn} opened={isConfirming} onClose={() => setConfirming(false)} />
    </Panel>
  );
}

/** Shown while the service would reject the change. */
function SecondPersonHint() {
  const { t } = useTranslation('settings');
  const { account } = useMembership();
  const { data } = useRead(showTeam, { params: { account } });
  if (data === undefined || data.people.filter(({ role }) => can(role, 'approvals:decide')).length >= 2) return null;
  return (
    <Text size="sm" c="dimmed">
      {t('dualControl.needsTwo')}{' '}
      <Anchor component={Link} to={`/a/${account}/team`} inherit underline="always">
        {t('dualControl.toTeam')}
      </Anchor>
    </Text>
  );
}

interface DualControlDialogProps {
  readonly isOn: boolean;
  readonly opened: boolean;
  readonly onClose: () => void;
}

function DualControlDialog({ isOn, opened, onClose }: DualControlDialogProps) {
  const { t } = useTranslation('settings');
  const { account } = useMembership();
  const { refresh } = useSessionControls();
  const notifyResult = useNotifyResult();
  const change = useChange(setDualControl);
  const confirm = (): void =>
    change.mutate(
      { params: { account }, body: { dual_control: !isOn } },
      {
        onSuccess: ({ approval, result }) => {
          onClose();
          notifyResult(approval);
          if (result !== null) notifySuccess(result.dual_control ? t('dualControl.doneOn') : t('dualControl.doneOff'));
          refresh();
        },
      },
    );
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title={isOn ? t('dualControl.turnOff') : t('dualControl.turnOn')}
      environment="production"
      confirmLabel={isOn ? t('dualControl.turnOff') : t('dualControl.turnOn')}
      onConfirm={confirm}
      isBusy={change.isPending}
      error={change.error}
    >
      {isOn ? t('dualControl.confirmOff') : t('dualControl.confirmOn')}
    </ConfirmDialog>
  );
}
