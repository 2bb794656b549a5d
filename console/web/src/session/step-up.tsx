import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react';
import { CallError } from '../api/call.ts';
import { useSessionControls } from './session.tsx';
import { type RequestStepUp, StepUpContext } from './step-up-context.ts';
import { StepUpDialog } from './step-up-dialog.tsx';

interface PendingStepUp {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: CallError) => void;
}

export function StepUpProvider({ children }: { readonly children: ReactNode }) {
  const pending = useRef<PendingStepUp>(undefined);
  const [isOpen, setOpen] = useState(false);
  const [action, setAction] = useState<string>();
  const request = useCallback<RequestStepUp>((nextAction) => {
    if (pending.current === undefined) {
      setAction(nextAction);
      pending.current = Promise.withResolvers<void>();
      setOpen(true);
    }
    return pending.current.promise;
  }, []);
  const finish = useCallback((settle: (step: PendingStepUp) => void) => {
    const step = pending.current;
    pending.current = undefined;
    setOpen(false);
    if (step !== undefined) settle(step);
  }, []);
  const cancel = useCallback(() => finish((step) => step.reject(new CallError('cancelled', 0, ''))), [finish]);
  const { visit } = useSessionControls();
  const isSignedIn = visit?.stage === 'signed-in';
  // The user has signed out.
  useEffect(() => {
    if (!isSignedIn) cancel();
  }, [isSignedIn, cancel]);
  return (
    <StepUpContext value={request}>
      {children}
      <StepUpDialog
        opened={isOpen}
        action={action}
        onConfirmed={() => finish((step) => step.resolve())}
        onCancel={cancel}
      />
    </StepUpContext>
  );
}
