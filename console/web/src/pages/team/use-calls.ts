import type { Definition } from '../../../../wire/definition.ts';
import type { CallArgs } from '../../api/call.ts';
import { useChange } from '../../api/hooks.ts';
import { useNotifyApproval } from '../../parts/notifications.tsx';
import type { LinkChange, PlainChange } from './team-calls.ts';

interface Link {
  readonly url: string;
  readonly expires_at: string;
}

/** Response of a change that may need approval. */
interface ApprovableResponse<Result> {
  readonly approval: string | null;
  readonly result: Result | null;
}

export function useLinkCall<Body, Input>(
  definition: Definition<Body, undefined, Link>,
  argsOf: (input: Input) => CallArgs<Body, undefined>,
): LinkChange<Input> {
  const change = useChange(definition);
  return {
    isBusy: change.isPending,
    send: (input, { onLink, onError }) => change.mutate(argsOf(input), { onSuccess: onLink, onError }),
  };
}

export function usePlainCall<Body, Data, Input>(
  definition: Definition<Body, undefined, Data>,
  argsOf: (input: Input) => CallArgs<Body, undefined>,
): PlainChange<Input> {
  const { mutate, isPending, error, reset } = useChange(definition);
  return {
    isBusy: isPending,
    error,
    reset,
    send: (input, onSent) => mutate(argsOf(input), { onSuccess: () => onSent(true) }),
  };
}

/** Like `useLinkCall`, for changes that may need approval. */
export function useApprovableLinkCall<Body, Input>(
  definition: Definition<Body, undefined, ApprovableResponse<Link>>,
  argsOf: (input: Input) => CallArgs<Body, undefined>,
): LinkChange<Input> {
  const change = useChange(definition);
  const noteApproval = useNotifyApproval();
  return {
    isBusy: change.isPending,
    send: (input, { onLink, onApprovalPending, onError }) =>
      change.mutate(argsOf(input), {
        onError,
        onSuccess: ({ approval, result }) => {
          if (result !== null) onLink(result);
          if (approval === null) return;
          onApprovalPending();
          noteApproval(approval);
        },
      }),
  };
}

/** Like `usePlainCall`, for changes that may need approval. */
export function useApprovablePlainCall<Body, Result, Input>(
  definition: Definition<Body, undefined, ApprovableResponse<Result>>,
  argsOf: (input: Input) => CallArgs<Body, undefined>,
): PlainChange<Input> {
  const { mutate, isPending, error, reset } = useChange(definition);
  const noteApproval = useNotifyApproval();
  return {
    isBusy: isPending,
    error,
    reset,
    send: (input, onSent) =>
      mutate(argsOf(input), {
        onSuccess: ({ approval }) => {
          onSent(approval === null);
          if (approval !== null) noteApproval(approval);
        },
      }),
  };
}
