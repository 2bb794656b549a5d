import { Box, Button, Group, List, Paper, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { approve, decline, executeApproval } from '../../../../wire/approvals.ts';
import { call } from '../../api/call.ts';
import { useOnce, useSteppedUp } from '../../api/hooks.ts';
import { useErrorText } from '../../parts/error-alert.tsx';
import { DialogForm, FormDialog } from '../../parts/form-dialog.tsx';
import { useLeaveGuard } from '../../parts/leave-guard.ts';
import { useMembership } from '../../session/tenant.ts';
import { useActionName } from './action-name.ts';
import { type ApprovalGroup, type DecisionOutcome, decideEach, type GroupDecision } from './decide-each.ts';
import { formatPersonLabel } from './person-label.ts';
import { Summary } from './summary.tsx';

type Args = { readonly params: Readonly<Record<string, string>> };

const CALLS: Readonly<Record<GroupDecision, (args: Args) => Promise<unknown>>> = {
  approve: (args) => call(approve, args),
  decline: (args) => call(decline, args),
  execute: (args) => call(executeApproval, args),
};

interface GroupDialogProps {
  readonly opened: boolean;
  readonly decision: GroupDecision;
  readonly group: ApprovalGroup;
  readonly onClose: () => void;
}

/** Lists every request of a group, decides all of them after one confirmation, and shows the result of each. */
export function GroupDialog({ opened, decision, group, onClose }: GroupDialogProps) {
  const { t } = useTranslation('approvals');
  const { t: partText } = useTranslation('parts');
  const [isRunning, setRunning] = useState(false);
  const [{ environment }] = group.approvals;
  useLeaveGuard(isRunning);
  return (
    <FormDialog
      opened={opened}
      onClose={isRunning ? () => undefined : onClose}
      title={t(`group.${decision}.title`, { number: group.approvals.length })}
      environment={environment}
      production={partText('productionWarning')}
      size="lg"
    >
      <GroupForm {...{ decision, group, onClose }} onRun={setRunning} />
    </FormDialog>
  );
}

type GroupFormProps = Omit<GroupDialogProps, 'opened'> & { readonly onRun: (isRunning: boolean) => void };

function GroupForm({ decision, group, onClose, onRun }: GroupFormProps) {
  const { t } = useTranslation('approvals');
  const actionName = useActionName();
  const { approvals } = group;
  const { outcomes, isRunning, start } = useDecisions(decision, onRun);
  const [{ action, requested_by, requested_by_email, decided_by, decided_by_email }] = approvals;
  const name =
    decision === 'execute'
      ? formatPersonLabel(decided_by, decided_by_email)
      : formatPersonLabel(requested_by, requested_by_email);
  const number = approvals.length;
  const list = <Changes approvals={approvals} outcomes={outcomes} />;
  if (outcomes.size > 0) {
    const done = approvals.filter(({ id }) => outcomes.get(id)?.state === 'done').length;
    return (
      <Stack gap="md">
        <Text size="sm" role="status">
          {t(`group.${decision}.done`, { done, number })}
        </Text>
        {list}
        <Group justify="flex-end">
          <Button onClick={onClose} disabled={isRunning}>
            {t('group.close')}
          </Button>
        </Group>
      </Stack>
    );
  }
  return (
    <DialogForm
      onSubmit={() => start(approvals.map(({ id }) => id))}
      onCancel={onClose}
      label={t(`group.${decision}.button`, { number })}
      isBusy={isRunning}
      error={null}
    >
      <Text size="sm" fw={600}>
        {t('group.of', { number, action: actionName(action) })}
      </Text>
      {list}
      <Text size="sm">{t(`group.${decision}.text`, { name })}</Text>
    </DialogForm>
  );
}

/** Sends the decision for each request; the second factor is confirmed once. */
function useDecisions(decision: GroupDecision, onRun: (isRunning: boolean) => void) {
  const { account } = useMembership();
  const client = useQueryClient();
  const steppedUp = useSteppedUp();
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, DecisionOutcome>>(new Map());
  const run = useOnce<void, readonly string[]>({
    mutationFn: async (ids) => {
      onRun(true);
      const send = (id: string) => steppedUp(() => CALLS[decision]({ params: { account, id } }));
      await decideEach(ids, send, (id, outcome) => setOutcomes((before) => new Map(before).set(id, outcome)));
    },
    onSettled: () => {
      onRun(false);
      void client.invalidateQueries();
    },
  });
  return { outcomes, isRunning: run.isPending, start: (ids: readonly string[]) => run.mutate(ids) };
}

interface ChangesProps extends Pick<ApprovalGroup, 'approvals'> {
  readonly outcomes: ReadonlyMap<string, DecisionOutcome>;
}

function Changes({ approvals, outcomes }: ChangesProps) {
  const { t } = useTranslation('approvals');
  return (
    // The keyboard has to scroll it.
    <Box mah={360} style={{ overflowY: 'auto' }} tabIndex={0} role="group" aria-label={t('group.list')}>
      <List listStyleType="none" spacing="xs" styles={{ itemWrapper: { display: 'block' } }}>
        {approvals.map(({ id, summary }) => (
          <List.Item key={id}>
            <Paper withBorder p="sm">
              <Summary lines={summary} />
              <Outcome outcome={outcomes.get(id)} />
            </Paper>
          </List.Item>
        ))}
      </List>
    </Box>
  );
}

function Outcome({ outcome }: { readonly outcome: DecisionOutcome | undefined }) {
  const { t } = useTranslation('approvals');
  const errorText = useErrorText();
  if (outcome === undefined) return null;
  return (
    <Text size="sm" fw={600} mt="xs">
      {outcome.state === 'failed' ? errorText(outcome.error) : t(`group.outcome.${outcome.state}`)}
    </Text>
  );
}
