import { Alert, Button, Skeleton, Stack, Text } from '@mantine/core';
import { CircleAlert, type LucideIcon, Trash2 } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { useNavigate } from 'react-router';
import type { CallError } from '../api/call.ts';
import { useTenant } from '../session/tenant.ts';
import { ConfirmDialog } from './confirm-dialog.tsx';
import { EmptyState } from './empty-state.tsx';
import { ErrorAlert } from './error-alert.tsx';
import { noteDone, useNoteApproval } from './notices.tsx';
import { PageHeader } from './page-header.tsx';

interface RecordPageProps<Data> {
  readonly title: string;
  /** The list that it is one of. */
  readonly list: { readonly to: string; readonly label: string };
  readonly reading: {
    readonly data: Data | undefined;
    readonly error: CallError | null;
    readonly refetch: () => unknown;
  };
  /** In place of a record that is not there, or not any more. */
  readonly gone: { readonly icon: LucideIcon; readonly title: string; readonly text: string };
  /** What to do about a record that somebody changed in the database. */
  readonly damaged: string;
  /** Absent: the person may not. */
  readonly removal: Removal | undefined;
  readonly children: (data: Data) => ReactNode;
}

/** How a record is deleted by hand. */
interface Removal {
  readonly id: string;
  /** Answers the approval that it waits for, if it does. */
  readonly send: (done: (approval: string | null) => void) => void;
  readonly change: { readonly isPending: boolean; readonly error: CallError | null; readonly reset: () => void };
  readonly words: Readonly<Record<'action' | 'title' | 'text' | 'confirm' | 'done', string>>;
  /** Has to be typed first. */
  readonly typed?: string | undefined;
}

/** One record of a list: being read, gone, failed, damaged or in full, and its end. */
export function RecordPage<Data extends { readonly is_damaged: boolean }>(props: RecordPageProps<Data>) {
  const { title, list, reading, gone, damaged, removal, children } = props;
  const [isRemoving, setRemoving] = useState(false);
  const { data, error } = reading;
  const isGone = error?.status === 404;
  return (
    <>
      <PageHeader
        title={title}
        back={list}
        actions={
          removal !== undefined &&
          data !== undefined &&
          !isGone && (
            <Button
              variant="light"
              color="red"
              leftSection={<Trash2 size={16} aria-hidden />}
              onClick={() => setRemoving(true)}
            >
              {removal.words.action}
            </Button>
          )
        }
      />
      <Stack gap="md">
        {isGone && (
          <EmptyState icon={gone.icon} title={gone.title}>
            {gone.text}
          </EmptyState>
        )}
        {error && !isGone && <ErrorAlert error={error} onRetry={() => void reading.refetch()} />}
        {data?.is_damaged && (
          <Alert color="red" icon={<CircleAlert size={18} aria-hidden />}>
            {damaged}
          </Alert>
        )}
        {!error && (data === undefined ? <Skeleton height={320} /> : children(data))}
      </Stack>
      {removal !== undefined && (
        <Remove {...removal} opened={isRemoving} onClose={() => setRemoving(false)} list={list.to} />
      )}
    </>
  );
}

interface RemoveProps extends Removal {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly list: string;
}

function Remove({ id, send, change, words, typed, opened, onClose, list }: RemoveProps) {
  const { environment } = useTenant();
  const navigate = useNavigate();
  const noteApproval = useNoteApproval();
  const close = (): void => {
    change.reset();
    onClose();
  };
  const done = (approval: string | null): void => {
    close();
    if (approval !== null) {
      noteApproval(approval);
      return;
    }
    noteDone(words.done);
    void navigate(list);
  };
  return (
    <ConfirmDialog
      opened={opened}
      onClose={close}
      title={words.title}
      confirmLabel={words.confirm}
      isDangerous
      environment={environment}
      {...(typed !== undefined && { typed })}
      isBusy={change.isPending}
      error={change.error}
      onConfirm={() => send(done)}
    >
      <Stack gap="sm">
        <Text size="sm" ff="monospace" fw={600}>
          {id}
        </Text>
        <Text size="sm">{words.text}</Text>
      </Stack>
    </ConfirmDialog>
  );
}
