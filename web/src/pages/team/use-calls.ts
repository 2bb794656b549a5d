import type { Definition } from '../../../../src/console/wire/definition.ts';
import type { Args } from '../../api/call.ts';
import { useChange } from '../../api/hooks.ts';
import type { PlainChange, TeamChange } from './team-calls.ts';

interface Link {
  readonly url: string;
  readonly expires_at: string;
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
  return { isBusy: isPending, error, reset, send: (about, onDone) => mutate(argsOf(about), { onSuccess: onDone }) };
}
