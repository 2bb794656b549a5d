import { Alert, Box, Button, Group, Stack } from '@mantine/core';
import { Eye, Info } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type CardForm, mount } from '../../../../../card-form/script/cardvault.ts';
import { previewCardForm } from '../../../../wire/card-form.ts';
import { useChange } from '../../api/hooks.ts';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { useTenant } from '../../session/tenant.ts';
import type { toSession } from './form-values.ts';

interface FormPreviewProps {
  /** Origin of the form. */
  readonly origin: string;
  readonly looks: ReturnType<typeof toSession>;
}

/** How the form in the frame is: `loading` until it is ready, `ended` when its session is over. */
type State = 'loading' | 'ready' | 'ended' | 'unavailable';

/**
 * The form itself, in a frame of its own origin, by the script that merchants load: nothing that is typed there reaches the console. A
 * session is created when the user asks for the form, because opening a page changes nothing.
 */
export function FormPreview({ origin, looks }: FormPreviewProps) {
  const { t } = useTranslation('cardForm');
  const { account } = useTenant();
  const creation = useChange(previewCardForm);
  const place = useRef<HTMLDivElement>(null);
  const form = useRef<CardForm>(undefined);
  const [state, setState] = useState<State>('loading');
  const session = creation.data?.preview;
  // Not a dependency of the effect that mounts: a change of the looks goes to the form that is there.
  const latest = useRef(looks);
  latest.current = looks;

  useEffect(() => {
    if (place.current === null || session === undefined || session === null) return undefined;
    const { id, client_secret: clientSecret } = session;
    setState('loading');
    const mounted = mount(place.current, { session: id, clientSecret, origin, ...toOptions(latest.current) });
    mounted.on('ready', () => setState('ready'));
    mounted.on('error', ({ code }) => setState(code.startsWith('session_') ? 'ended' : 'unavailable'));
    form.current = mounted;
    return () => {
      form.current = undefined;
      mounted.destroy();
    };
  }, [session, origin]);

  const text = JSON.stringify(looks);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the looks are another object at each rendering, and the same by their text.
  useEffect(() => form.current?.update(toOptions(latest.current)), [text]);

  const isShown = session !== undefined && session !== null;
  const isOver = state === 'ended' || state === 'unavailable';
  return (
    <Stack gap="sm">
      {isShown && <Box ref={place} data-preview={state} />}
      {isShown && isOver && (
        <Alert color="yellow" icon={<Info size={18} aria-hidden />}>
          {t(`preview.${state}`, { origin })}
        </Alert>
      )}
      {session === null && (
        <Alert color="yellow" icon={<Info size={18} aria-hidden />}>
          {t('preview.address')}
        </Alert>
      )}
      {(!isShown || isOver) && session !== null && (
        <Group>
          <Button
            leftSection={<Eye size={16} aria-hidden />}
            loading={creation.isPending}
            onClick={() => creation.mutate({ params: { account } })}
          >
            {t('preview.show')}
          </Button>
        </Group>
      )}
      {creation.error !== null && <ErrorAlert error={creation.error} />}
    </Stack>
  );
}

/** Gives the members that are not chosen too, because the form keeps those of an earlier update. */
const toOptions = ({ appearance, locale }: FormPreviewProps['looks']) => ({
  appearance: appearance ?? {},
  locale: locale ?? '',
});
