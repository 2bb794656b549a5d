import { createContext, type ReactNode, use, useCallback, useEffect, useRef, useState } from 'react';
import { CallError } from '../api/call.ts';
import { useVisit } from './session.tsx';
import { StepUpDialog } from './step-up-dialog.tsx';

interface Waiting {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: CallError) => void;
}

type Ask = (action?: string) => Promise<void>;

const Context = createContext<Ask>(() => Promise.reject(new CallError('internal', 0, '')));

/**
 * Asks for the second factor again. Resolves when it was given; rejects with `cancelled` when not. Who asks while the
 * dialog is open waits for the same answer. `action`: a word of `byTwo`, to tell what it is for.
 */
export const useStepUp = (): Ask => use(Context);

export function StepUpProvider({ children }: { readonly children: ReactNode }) {
  const waiting = useRef<Waiting>(undefined);
  const [isOpen, setOpen] = useState(false);
  const [action, setAction] = useState<string>();
  const ask = useCallback<Ask>((what) => {
    if (waiting.current === undefined) {
      setAction(what);
      waiting.current = Promise.withResolvers<void>();
      setOpen(true);
    }
    return waiting.current.promise;
  }, []);
  const end = useCallback((tell: (who: Waiting) => void) => {
    const who = waiting.current;
    waiting.current = undefined;
    setOpen(false);
    if (who !== undefined) tell(who);
  }, []);
  const cancel = useCallback(() => end((who) => who.reject(new CallError('cancelled', 0, ''))), [end]);
  const { visit } = useVisit();
  const isSignedIn = visit?.stage === 'signed-in';
  // Nobody is left to be asked.
  useEffect(() => {
    if (!isSignedIn) cancel();
  }, [isSignedIn, cancel]);
  return (
    <Context value={ask}>
      {children}
      <StepUpDialog opened={isOpen} action={action} onConfirmed={() => end((who) => who.resolve())} onCancel={cancel} />
    </Context>
  );
}
