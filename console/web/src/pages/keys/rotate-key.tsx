import { NativeSelect, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { LIMITS } from '../../../../../src/kernel/limits.ts';
import { rotateKey } from '../../../../wire/keys.ts';
import type { CallError } from '../../api/call.ts';
import { useChange } from '../../api/hooks.ts';
import { DualControlNote, useDualControl } from '../../parts/dual-control.tsx';
import { EnvironmentBadge } from '../../parts/environment-badge.tsx';
import { DialogForm } from '../../parts/form-dialog.tsx';
import { useNotifyResult } from '../../parts/notifications.tsx';
import { SecretDialog } from '../../parts/secret-once.tsx';
import { useTenant } from '../../session/tenant.ts';
import { KeyName } from './key-name.tsx';
import { type IssuedKey, KeySecret } from './key-secret.tsx';
import type { Key } from './key-values.ts';

const OVERLAPS = { now: 0, m15: 15, h1: 60, h24: 1440, d7: 10_080 } as const;
const CHOICES = ['now', 'm15', 'h1', 'h24', 'd7', 'other'] as const;
type Choice = (typeof CHOICES)[number];

interface RotateKeyProps {
  readonly opened: boolean;
  readonly apiKey: Key;
  readonly onClose: () => void;
  /** Receives the id of the new key after the user stored it. */
  readonly onRotated: (id: string) => void;
}

/** Asks for the overlap, then shows the new key, which cannot be closed by accident. */
export function RotateKey({ opened, apiKey, onClose, onRotated }: RotateKeyProps) {
  const { t } = useTranslation('keys');
  const params = useTenant();
  const notifyResult = useNotifyResult();
  const rotate = useChange(rotateKey);
  const [issued, setIssued] = useState<IssuedKey>();
  const send = (overlap_minutes: number): void =>
    rotate.mutate(
      { params: { ...params, id: apiKey.id }, body: { overlap_minutes } },
      {
        onSuccess: ({ approval, result }) => {
          notifyResult(approval);
          if (result === null) onClose();
          else setIssued(result);
        },
      },
    );
  return (
    <SecretDialog
      opened={opened}
      onClose={onClose}
      onClosed={() => {
        setIssued(undefined);
        rotate.reset();
      }}
      title={issued === undefined ? t('rotate.title') : t('secret.rotatedTitle')}
      size="lg"
      isPinned={issued !== undefined || rotate.isPending}
    >
      {issued === undefined ? (
        <OverlapForm
          apiKey={apiKey}
          onSend={(minutes) => opened && send(minutes)}
          onClose={onClose}
          isBusy={rotate.isPending}
          error={rotate.error}
        />
      ) : (
        <KeySecret
          issued={issued}
          onStored={() => {
            onClose();
            onRotated(issued.key.id);
          }}
        />
      )}
    </SecretDialog>
  );
}

interface OverlapFormProps {
  readonly apiKey: Key;
  readonly onSend: (minutes: number) => void;
  readonly onClose: () => void;
  readonly isBusy: boolean;
  readonly error: CallError | null;
}

function OverlapForm({ apiKey, onSend, onClose, isBusy, error }: OverlapFormProps) {
  const { t } = useTranslation('keys');
  const { t: tParts } = useTranslation('parts');
  const { environment } = useTenant();
  const needsApproval = useDualControl();
  const [choice, setChoice] = useState<Choice>('h24');
  const [typed, setTyped] = useState('');
  const [hasFault, setFault] = useState(false);
  const minutes = choice === 'other' ? parseMinutes(typed) : OVERLAPS[choice];
  return (
    <DialogForm
      label={needsApproval ? tParts('requestApproval') : t('rotate.confirm')}
      {...{ isBusy, error }}
      onCancel={onClose}
      onSubmit={() => {
        setFault(minutes === undefined);
        if (minutes !== undefined) onSend(minutes);
      }}
    >
      {environment === 'production' && (
        <div>
          <EnvironmentBadge environment={environment} />
        </div>
      )}
      <KeyName apiKey={apiKey} />
      <Text size="sm">{t('rotate.text')}</Text>
      {needsApproval && <DualControlNote />}
      <NativeSelect
        label={t('rotate.overlap')}
        data={CHOICES.map((value) => ({ value, label: t(`rotate.${value}`) }))}
        value={choice}
        onChange={(event) => setChoice(event.currentTarget.value as Choice)}
        data-autofocus
      />
      {choice === 'other' && (
        <MinutesField value={typed} onChange={setTyped} hasFault={hasFault && minutes === undefined} />
      )}
    </DialogForm>
  );
}

interface MinutesFieldProps {
  readonly value: string;
  readonly onChange: (text: string) => void;
  readonly hasFault: boolean;
}

function MinutesField({ value, onChange, hasFault }: MinutesFieldProps) {
  const { t } = useTranslation('keys');
  const max = LIMITS.overlapMinutes;
  return (
    <TextInput
      label={t('rotate.minutes')}
      description={t('rotate.minutesHint', { max })}
      inputMode="numeric"
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      error={hasFault && t('rotate.fault', { max })}
    />
  );
}

function parseMinutes(text: string): number | undefined {
  const minutes = /^\d{1,6}$/.test(text.trim()) ? Number(text) : Number.NaN;
  return minutes <= LIMITS.overlapMinutes ? minutes : undefined;
}
