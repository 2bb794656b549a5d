import { Button, Checkbox, Group, SegmentedControl, SimpleGrid, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ValueOf } from '../../../../../src/http/fields.ts';
import { ALERT_KINDS, capabilityFor } from '../../../../alerts/alert.ts';
import { MAIL_LEVELS } from '../../../../people/person.ts';
import { chooseAlertMails, showAlertMails } from '../../../../wire/alerts.ts';
import { useChange, useRead } from '../../api/hooks.ts';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { notifySuccess } from '../../parts/notifications.tsx';
import { Panel } from '../../parts/panel.tsx';
import { useSession } from '../../session/session.tsx';
import { EmailConfirmation } from './email-confirmation.tsx';

type Choice = Pick<ValueOf<typeof showAlertMails.data>, 'level' | 'muted'>;

/** Lets the user choose which alerts come by mail. */
export function MailsPanel() {
  const { t } = useTranslation('alerts');
  const { data } = useRead(showAlertMails);
  if (data === undefined) return null;
  return (
    <Panel title={t('mails.title')}>
      {data.is_available ? (
        <Stack gap="lg">
          {!data.is_confirmed && <EmailConfirmation />}
          <MailChoice key={JSON.stringify(data)} stored={data} />
        </Stack>
      ) : (
        <Text size="sm" c="dimmed">
          {t('mails.unavailable')}
        </Text>
      )}
    </Panel>
  );
}

/** Returns the kinds of alerts that the user can see. */
function useKinds() {
  const { memberships, is_operator } = useSession();
  return ALERT_KINDS.filter(
    (kind) =>
      memberships.some(({ capabilities, account }) => capabilities.includes(capabilityFor({ account, kind }))) ||
      (is_operator && (kind === 'unknown-outcomes' || capabilityFor({ account: '-', kind }) === 'operate')),
  );
}

function MailChoice({ stored }: { readonly stored: Choice }) {
  const { t } = useTranslation('alerts');
  const [{ level, muted }, setChoice] = useState<Choice>(stored);
  const change = useChange(chooseAlertMails);
  const kinds = useKinds();
  const toggle = (kind: Choice['muted'][number], isWanted: boolean): void =>
    setChoice({ level, muted: isWanted ? muted.filter((each) => each !== kind) : [...muted, kind] });
  const save = (): void =>
    change.mutate({ body: { level, muted: [...muted] } }, { onSuccess: () => notifySuccess(t('mails.saved')) });
  return (
    <Stack gap="md">
      <Text size="sm" c="dimmed">
        {t('mails.text')}
      </Text>
      {change.error && <ErrorAlert error={change.error} />}
      <Group>
        <SegmentedControl
          aria-label={t('mails.level')}
          data={MAIL_LEVELS.map((value) => ({ value, label: t(`mails.levels.${value}`) }))}
          value={level}
          onChange={(value) => setChoice({ level: MAIL_LEVELS.find((each) => each === value) ?? level, muted })}
        />
      </Group>
      {level !== 'none' && (
        <SimpleGrid component="fieldset" cols={{ base: 1, sm: 2 }} spacing="xs" m={0} p={0} bd={0}>
          {kinds.map((kind) => (
            <Checkbox
              key={kind}
              label={t(`kindName.${kind}`)}
              checked={!muted.includes(kind)}
              onChange={(event) => toggle(kind, event.currentTarget.checked)}
            />
          ))}
        </SimpleGrid>
      )}
      <Group>
        <Button onClick={save} loading={change.isPending}>
          {t('mails.save')}
        </Button>
      </Group>
    </Stack>
  );
}
