import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { showSession } from '../../../wire/session.ts';
import { call, listenToCalls } from '../api/call.ts';
import { hearOtherTabs, tellOtherTabs } from './other-tabs.ts';
import { useSession, useVisit } from './session.tsx';
import { useSignOut } from './sign-out.ts';

const SECOND = 1000;
const WARNING_SECONDS = 60;
/** Tabs need not tell each other of every call. */
const TELL_EVERY = 5 * SECOND;

/** When this browser last kept the session alive, in any of its tabs. */
function useLastActive() {
  const at = useRef(Date.now());
  useEffect(() => {
    let told = 0;
    const onActive = (): void => {
      at.current = Date.now();
      if (at.current - told < TELL_EVERY) return;
      told = at.current;
      tellOtherTabs('active');
    };
    const stopListening = listenToCalls({ onActive });
    const stopHearing = hearOtherTabs((news) => {
      if (news === 'active') at.current = Date.now();
    });
    return () => {
      stopListening();
      stopHearing();
    };
  }, []);
  return at;
}

/** Seconds until the session ends without activity, and whatever happens. */
function useSecondsLeft() {
  const { idle_seconds, ends_at } = useSession();
  const { refresh } = useVisit();
  const lastActive = useLastActive();
  const [left, setLeft] = useState({ idle: Number.POSITIVE_INFINITY, atAll: Number.POSITIVE_INFINITY });
  useEffect(() => {
    const look = (): void => {
      const idle = Math.ceil((lastActive.current - Date.now()) / SECOND + idle_seconds);
      const atAll = Math.ceil((Date.parse(ends_at) - Date.now()) / SECOND);
      // Above the warning nothing changes on the screen.
      const within = (seconds: number): number =>
        seconds > WARNING_SECONDS ? Number.POSITIVE_INFINITY : Math.max(seconds, 0);
      setLeft((before) => {
        const now = { idle: within(idle), atAll: within(atAll) };
        return before.idle === now.idle && before.atAll === now.atAll ? before : now;
      });
      // The service is the one to say that it is over.
      if (Math.min(idle, atAll) <= 0) void refresh();
    };
    const timer = setInterval(look, SECOND);
    return () => clearInterval(timer);
  }, [idle_seconds, ends_at, lastActive, refresh]);
  return left;
}

/** A minute before the session ends. */
export function IdleWarning() {
  const { t } = useTranslation('session');
  const { idle, atAll } = useSecondsLeft();
  const [isUnderstood, setUnderstood] = useState(false);
  const signOut = useSignOut();
  const isFinal = atAll <= idle;
  const seconds = Math.min(idle, atAll);
  const opened = Number.isFinite(seconds) && !(isFinal && isUnderstood);
  const stay = (): void => {
    if (isFinal) setUnderstood(true);
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
