import { Button, Group, Stack, Text } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { showSession } from '../../../wire/session.ts';
import { call, listenToCalls } from '../api/call.ts';
import { Modal } from '../parts/dialogs.tsx';
import { useSession, useSessionControls } from './session.tsx';
import { useSignOut } from './sign-out.ts';
import { listenToTabs, postToTabs } from './tab-sync.ts';

const SECOND_MS = 1000;
const WARNING_SECONDS = 60;
/** Minimum time between messages to other tabs. */
const BROADCAST_INTERVAL_MS = 5 * SECOND_MS;

/** Returns when any tab of this browser last extended the session. */
function useLastActive() {
  const lastActiveAt = useRef(Date.now());
  useEffect(() => {
    let lastSentAt = 0;
    const onActive = (): void => {
      lastActiveAt.current = Date.now();
      if (lastActiveAt.current - lastSentAt < BROADCAST_INTERVAL_MS) return;
      lastSentAt = lastActiveAt.current;
      postToTabs('active');
    };
    const stopListening = listenToCalls({ onActive });
    const stopHearing = listenToTabs((event) => {
      if (event === 'active') lastActiveAt.current = Date.now();
    });
    return () => {
      stopListening();
      stopHearing();
    };
  }, []);
  return lastActiveAt;
}

/** Returns the seconds until the session expires by inactivity and absolutely. */
function useSecondsLeft() {
  const { idle_seconds, expires_at } = useSession();
  const { refresh } = useSessionControls();
  const lastActive = useLastActive();
  const [left, setLeft] = useState({ idle: Number.POSITIVE_INFINITY, absolute: Number.POSITIVE_INFINITY });
  useEffect(() => {
    const update = (): void => {
      const idle = Math.ceil((lastActive.current - Date.now()) / SECOND_MS + idle_seconds);
      const absolute = Math.ceil((Date.parse(expires_at) - Date.now()) / SECOND_MS);
      // Above the warning time the state stays equal, which avoids renders.
      const within = (seconds: number): number =>
        seconds > WARNING_SECONDS ? Number.POSITIVE_INFINITY : Math.max(seconds, 0);
      setLeft((before) => {
        const now = { idle: within(idle), absolute: within(absolute) };
        return before.idle === now.idle && before.absolute === now.absolute ? before : now;
      });
      // The service decides whether the session has expired.
      if (Math.min(idle, absolute) <= 0) void refresh();
    };
    const timer = setInterval(update, SECOND_MS);
    return () => clearInterval(timer);
  }, [idle_seconds, expires_at, lastActive, refresh]);
  return left;
}

/** Warns one minute before the session expires. */
export function IdleWarning() {
  const { t } = useTranslation('session');
  const { idle, absolute } = useSecondsLeft();
  const [isDismissed, setDismissed] = useState(false);
  const signOut = useSignOut();
  const isFinal = absolute <= idle;
  const seconds = Math.min(idle, absolute);
  const opened = Number.isFinite(seconds) && !(isFinal && isDismissed);
  const stay = (): void => {
    if (isFinal) setDismissed(true);
    else void call(showSession).catch(() => undefined);
  };
  return (
    <Modal
      opened={opened}
      onClose={stay}
      title={isFinal ? t('endsForGood') : t('endingSoon')}
      withCloseButton={false}
      closeOnClickOutside={false}
      zIndex={500}
    >
      <Stack gap="md">
        <Text size="sm">{isFinal ? t('endsForGoodHint') : t('endingHint')}</Text>
        <Text fw={500} role="timer">
          {t('secondsLeft', { count: Number.isFinite(seconds) ? seconds : 0 })}
        </Text>
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={signOut}>
            {t('signOut')}
          </Button>
          <Button onClick={stay} data-autofocus>
            {isFinal ? t('understood') : t('stay')}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
