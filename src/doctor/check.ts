/** One line of a diagnosis: what was examined, what it is like, and what an operator has to do. */
export interface Check {
  /** Names the subject, a few words in lower case. */
  readonly name: string;
  /** `problem`: mend it before live cards are stored. `warning`: mend it, or know why it is as it is. */
  readonly state: 'ok' | 'warning' | 'problem';
  /** The finding; contains no secret. */
  readonly message: string;
  /** The next step of the operator; undefined where none is needed. */
  readonly advice: string | undefined;
}

export const ok = (name: string, message: string): Check => ({ name, state: 'ok', message, advice: undefined });

export const warning = (name: string, message: string, advice: string): Check => ({
  name,
  state: 'warning',
  message,
  advice,
});

export const problem = (name: string, message: string, advice: string): Check => ({
  name,
  state: 'problem',
  message,
  advice,
});

/** Returns the faults, or one line that states that there is none. */
export const faultsOr = (faults: readonly Check[], fine: Check): readonly Check[] =>
  faults.length > 0 ? faults : [fine];
