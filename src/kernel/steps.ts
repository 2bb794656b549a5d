/** A step of a request that leaves the process, or waits for the disk. */
export type Step =
  | { readonly name: 'commit' }
  | { readonly name: 'processor'; readonly processor: string; readonly operation: string };

/** Observes the steps of requests, for traces. It is absent where there are none, so that a step costs nothing more. */
export interface StepObserver {
  /** Runs the step and returns its result. `describe`: a word of a closed list for the result, which contains no data. */
  observe<T>(step: Step, run: () => Promise<T>, describe?: (result: T) => string): Promise<T>;
}
