import type { Definition } from '../../../../wire/definition.ts';
import type { CallArgs } from '../../api/call.ts';
import { useChange } from '../../api/hooks.ts';
import { useNotifyResult } from '../../parts/notifications.tsx';
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

/** Returns the id of the approval that a change needs; null when it was made. */
const approvalOf = (data: object): string | null =>
  'approval' in data ? (data as ApprovableResponse<unknown>).approval : null;

export function useLinkCall<Body, Input>(
  definition: Definition<Body, undefined, Link | ApprovableResponse<Link>>,
  argsOf: (input: Input) => CallArgs<Body, undefined>,
): LinkChange<Input> {
  const change = useChange(definition);
  const notifyResult = useNotifyResult();
  return {
    isBusy: change.isPending,
    send: (input, { onLink, onApprovalPending, onError }) =>
      change.mutate(argsOf(input), {
        onError,
        onSuccess: (data) => {
          const link = 'url' in data ? data : data.result;
          if (link === null) onApprovalPending();
          else onLink(link);
          notifyResult(approvalOf(data));
        },
      }),
  };
}

export function usePlainCall<Body, Data extends object, Input>(
  definition: Definition<Body, undefined, Data>,
  argsOf: (input: Input) => CallArgs<Body, undefined>,
): PlainChange<Input> {
  const { mutate, isPending, error, reset } = useChange(definition);
  const notifyResult = useNotifyResult();
  return {
    isBusy: isPending,
    error,
    reset,
    send: (input, onSent) =>
      mutate(argsOf(input), {
        onSuccess: (data) => {
          const approval = approvalOf(data);
          onSent(approval === null);
          notifyResult(approval);
        },
      }),
  };
}
