import { createContext, use } from 'react';
import { CallError } from '../api/call.ts';

export type RequestStepUp = (action?: string) => Promise<void>;

export const StepUpContext = createContext<RequestStepUp>(() => Promise.reject(new CallError('internal', 0, '')));

/**
 * Asks for the second factor again. Resolves after success; rejects with `cancelled`. Callers share one open dialog.
 * `action` names the change.
 */
export const useStepUp = (): RequestStepUp => use(StepUpContext);
