import type { Definition } from '../../../../wire/definition.ts';
import type { Args } from '../../api/call.ts';
import { useChange } from '../../api/hooks.ts';
import { useNoteApproval } from '../../parts/notices.tsx';
import type { PlainChange, TeamChange } from './team-calls.ts';

interface Link {
  readonly url: string;
  readonly expires_at: string;
}

/** The answer of a change that may have to wait for a second person. */
interface ByTwo<Result> {
  readonly approval: string | null;
  readonly result: Result | null;
}

export function useLinkCall<Body, About>(
  definition: Definition<Body, undefined, Link>,
  argsOf: (about: About) => Args<Body, undefined>,
): TeamChange<About> {
  const change = useChange(definition);
  return {
    isBusy: change.isPending,
    send: (about, { onLink, onError }) => change.mutate(argsOf(about), { onSuccess: onLink, onError }),
  };
}

export function usePlainCall<Body, Data, About>(
  definition: Definition<Body, undefined, Data>,
  argsOf: (about: About) => Args<Body, undefined>,
): PlainChange<About> {
  const { mutate, isPending, error, reset } = useChange(definition);
  return {
    isBusy: isPending,
    error,
    reset,
    send: (about, onSent) => mutate(argsOf(about), { onSuccess: () => onSent(true) }),
  };
}

/** As `useLinkCall`, where the change may take two people. */
export function useLinkByTwo<Body, About>(
  definition: Definition<Body, undefined, ByTwo<Link>>,
  argsOf: (about: About) => Args<Body, undefined>,
): TeamChange<About> {
  const change = useChange(definition);
  const noteApproval = useNoteApproval();
  return {
    isBusy: change.isPending,
    send: (about, { onLink, onWaiting, onError }) =>
      change.mutate(argsOf(about), {
        onError,
        onSuccess: ({ approval, result }) => {
          if (result !== null) onLink(result);
          if (approval === null) return;
          onWaiting();
          noteApproval(approval);
        },
      }),
  };
}

/** As `usePlainCall`, where the change may take two people. */
export function usePlainByTwo<Body, Result, About>(
  definition: Definition<Body, undefined, ByTwo<Result>>,
  argsOf: (about: About) => Args<Body, undefined>,
): PlainChange<About> {
  const { mutate, isPending, error, reset } = useChange(definition);
  const noteApproval = useNoteApproval();
  return {
    isBusy: isPending,
    error,
    reset,
    send: (about, onSent) =>
      mutate(argsOf(about), {
        onSuccess: ({ approval }) => {
          onSent(approval === null);
          if (approval !== null) noteApproval(approval);
        },
      }),
  };
}
