import { Alert, Button, Group, Radio, Stack, Text } from '@mantine/core';
import { Users } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { answerDualControlQuestion, showDualControlQuestion } from '../../../wire/approvals.ts';
import { useChange, useRead } from '../api/hooks.ts';
import { useSessionControls } from '../session/session.tsx';
import { useCan, useMembership } from '../session/tenant.ts';
import { ErrorAlert } from './error-alert.tsx';
import { notifySuccess } from './notifications.tsx';

/** Asks an owner, as soon as a second user may approve changes, whether production requires two-person approval. */
export function DualControlQuestion() {
  return useCan()('account:settings') ? <OwnerQuestion /> : null;
}

function OwnerQuestion() {
  const { account } = useMembership();
  const { data } = useRead(showDualControlQuestion, { params: { account } });
  const [isPostponed, setPostponed] = useState(false);
  if (data?.is_asked !== true || isPostponed) return null;
  return <Question isRecommended={data.is_recommended} onPostpone={() => setPostponed(true)} />;
}

type Choice = 'yes' | 'no';

function Question({ isRecommended, onPostpone }: { readonly isRecommended: boolean; readonly onPostpone: () => void }) {
  const { t } = useTranslation('parts');
  const { account } = useMembership();
  const { refresh } = useSessionControls();
  const [choice, setChoice] = useState<Choice | null>(isRecommended ? 'yes' : null);
  const change = useChange(answerDualControlQuestion);
  const save = (): void =>
    change.mutate(
      { params: { account }, body: { dual_control: choice === 'yes' } },
      {
        onSuccess: () => {
          notifySuccess(t(choice === 'yes' ? 'question.doneYes' : 'question.doneNo'));
          onPostpone();
          refresh();
        },
      },
    );
  return (
    <Alert color="ink" icon={<Users size={18} aria-hidden />} title={t('question.title')}>
      <Stack gap="sm">
        <Text size="sm">{t(isRecommended ? 'question.textRecommended' : 'question.text')}</Text>
        <Choices value={choice} onChange={setChoice} />
        {change.error !== null && <ErrorAlert error={change.error} />}
        <Group gap="xs">
          <Button size="xs" onClick={save} disabled={choice === null} loading={change.isPending}>
            {t('question.save')}
          </Button>
          <Button size="xs" variant="default" onClick={onPostpone}>
            {t('question.later')}
          </Button>
        </Group>
      </Stack>
    </Alert>
  );
}

interface ChoicesProps {
  readonly value: Choice | null;
  readonly onChange: (choice: Choice) => void;
}

function Choices({ value, onChange }: ChoicesProps) {
  const { t } = useTranslation('parts');
  return (
    <Radio.Group
      aria-label={t('question.title')}
      value={value}
      onChange={(choice) => onChange(choice === 'yes' ? 'yes' : 'no')}
    >
      <Stack gap="xs">
        <Radio value="yes" label={t('question.yes')} />
        <Radio value="no" label={t('question.no')} />
      </Stack>
    </Radio.Group>
  );
}
