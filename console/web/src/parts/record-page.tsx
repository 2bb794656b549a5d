import { Alert, Button, Skeleton, Stack, Text } from '@mantine/core';
import { CircleAlert, type LucideIcon, Trash2 } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { useNavigate } from 'react-router';
import type { CallError } from '../api/call.ts';
import { useTenant } from '../session/tenant.ts';
import { ConfirmDialog } from './confirm-dialog.tsx';
import { EmptyState } from './empty-state.tsx';
import { ErrorAlert } from './error-alert.tsx';
import { useNotifyResult } from './notifications.tsx';
import { PageHeader } from './page-header.tsx';

interface RecordPageProps<Data> {
  readonly title: string;
  /** List of the record. */
  readonly list: { readonly to: string; readonly label: string };
  readonly query: {
    readonly data: Data | undefined;
    readonly error: CallError | null;
    readonly refetch: () => unknown;
  };
  /** Shown instead of a record that does not exist. */
  readonly gone: { readonly icon: LucideIcon; readonly title: string; readonly text: string };
  /** Notice about a record that was altered in the database. */
  readonly alteredNotice: string;
  /** Undefined when the user has no permission. */
  readonly removal: Removal | undefined;
  readonly children: (data: Data) => ReactNode;
}

/** How the user deletes a record. */
interface Removal {
  readonly id: string;
  /** Calls `done` with the pending approval, or null. */
  readonly send: (done: (approval: string | null) => void) => void;
  readonly change: { readonly isPending: boolean; readonly error: CallError | null; readonly reset: () => void };
  readonly texts: Readonly<Record<'action' | 'title' | 'text' | 'confirm' | 'done', string>>;
  /** Text that the user has to type first. */
  readonly confirmText?: string | undefined;
}

/** Page of one record: loading, missing, failed, altered or complete, with deletion. */
export function RecordPage<Data extends { readonly is_altered: boolean }>(props: RecordPageProps<Data>) {
  const { title, list, query, gone, alteredNotice, removal, children } = props;
  const [isRemoving, setRemoving] = useState(false);
  const { data, error } = query;
  const isGone = error?.status === 404;
  return (
    <>
      <PageHeader
        title={title}
        back={list}
        actions={
          removal !== undefined &&
          data !== undefined &&
          !isGone && <RemoveButton label={removal.texts.action} onClick={() => setRemoving(true)} />
        }
      />
      <Stack gap="md">
        {isGone && (
          <EmptyState icon={gone.icon} title={gone.title}>
            {gone.text}
          </EmptyState>
        )}
        {error && !isGone && <ErrorAlert error={error} onRetry={() => void query.refetch()} />}
        {data?.is_altered && (
          <Alert color="red" icon={<CircleAlert size={18} aria-hidden />}>
            {alteredNotice}
          </Alert>
        )}
        {!error && (data === undefined ? <Skeleton height={320} /> : children(data))}
      </Stack>
      {removal !== undefined && (
        <RemoveDialog {...removal} opened={isRemoving} onClose={() => setRemoving(false)} list={list.to} />
      )}
    </>
  );
}

const RemoveButton = ({ label, onClick }: { readonly label: string; readonly onClick: () => void }) => (
  <Button variant="light" color="red" leftSection={<Trash2 size={16} aria-hidden />} onClick={onClick}>
    {label}
  </Button>
);

interface RemoveDialogProps extends Removal {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly list: string;
}

function RemoveDialog({ id, send, change, texts, confirmText, opened, onClose, list }: RemoveDialogProps) {
  const { environment } = useTenant();
  const navigate = useNavigate();
  const notifyResult = useNotifyResult();
  const close = (): void => {
    change.reset();
    onClose();
  };
  const done = (approval: string | null): void => {
    close();
    notifyResult(approval, texts.done);
    if (approval === null) void navigate(list);
  };
  return (
    <ConfirmDialog
      opened={opened}
      onClose={close}
      title={texts.title}
      confirmLabel={texts.confirm}
      isDangerous
      environment={environment}
      {...(confirmText !== undefined && { confirmText })}
      isBusy={change.isPending}
      error={change.error}
      onConfirm={() => send(done)}
    >
      <Stack gap="sm">
        <Text size="sm" ff="monospace" fw={600}>
          {id}
        </Text>
        <Text size="sm">{texts.text}</Text>
      </Stack>
    </ConfirmDialog>
  );
}
