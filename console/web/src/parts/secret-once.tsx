import { Alert, Button, Checkbox, Stack, Text } from '@mantine/core';
import { TriangleAlert } from 'lucide-react';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CopyButton } from './copy.tsx';
import { Modal } from './dialogs.tsx';
import { useLeaveGuard } from './leave-guard.ts';
import classes from './secret-once.module.css';

interface SecretOnceProps {
  /** Name of the secret, such as "API key". */
  readonly label: string;
  readonly secret: string;
  /** Instruction and confirmation; by default to store the secret. */
  readonly notice?: string;
  readonly confirmation?: string;
  /** Called after the user confirms. */
  readonly onStored: () => void;
  /** Text of the button after the confirmation; "Done" by default. */
  readonly doneLabel?: string | undefined;
  /** Content between the secret and the button, such as an example. */
  readonly children?: ReactNode;
}

interface SecretDialogProps {
  readonly opened: boolean;
  readonly title: string;
  readonly size: 'md' | 'lg' | 'xl';
  /** False while the dialog holds the form before the secret, which can be closed. */
  readonly isPinned?: boolean;
  readonly onClose?: () => void;
  /** Called after the closing animation. */
  readonly onClosed?: () => void;
  readonly children: ReactNode;
}

/** Dialog of a secret that is shown once. Only a button of its content closes it, so that the secret is not lost by accident. */
export function SecretDialog(props: SecretDialogProps) {
  const { opened, title, size, isPinned = true, onClose = () => undefined, onClosed, children } = props;
  const { t } = useTranslation('parts');
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      {...(onClosed && { onExitTransitionEnd: onClosed })}
      title={title}
      size={size}
      closeOnClickOutside={false}
      closeOnEscape={!isPinned}
      withCloseButton={!isPinned}
      closeButtonProps={{ 'aria-label': t('close') }}
    >
      {children}
    </Modal>
  );
}

/** Shows a secret once. */
export function SecretOnce({ label, secret, notice, confirmation, onStored, doneLabel, children }: SecretOnceProps) {
  const { t } = useTranslation('parts');
  const [isStored, setStored] = useState(false);
  useLeaveGuard(!isStored);
  const shown = useRef<HTMLDivElement>(null);
  // The form and its button were replaced, so the focus moves here.
  useEffect(() => shown.current?.querySelector('button')?.focus(), []);
  return (
    <Stack gap="md">
      <Alert color="yellow" icon={<TriangleAlert size={18} aria-hidden />}>
        {notice ?? t('secretOnce')}
      </Alert>
      <Stack gap={6}>
        <Text size="sm" fw={500}>
          {label}
        </Text>
        <div className={classes['secret']} ref={shown}>
          <code>{secret}</code>
          <CopyButton value={secret} label={label} hasText />
        </div>
      </Stack>
      {children}
      <Checkbox
        label={confirmation ?? t('storedIt')}
        checked={isStored}
        onChange={(event) => setStored(event.currentTarget.checked)}
      />
      <Button onClick={onStored} disabled={!isStored}>
        {doneLabel ?? t('done')}
      </Button>
    </Stack>
  );
}
