import type { Explanation } from '../../../../src/kernel/reasons.ts';

/** Setting as the service describes it. */
export interface Setting {
  readonly name: string;
  /** Null when it is not set or secret. */
  readonly value: string | null;
  readonly is_set: boolean;
  readonly default_value: string | null;
  readonly expected: Explanation;
  readonly is_secret: boolean;
}

/** Unsaved changes by setting name. An empty text removes the value; settings not listed stay. */
export type Changes = Readonly<Record<string, string>>;

/** Returns the value that the field shows. */
export const displayValue = ({ name, value, is_secret }: Setting, changes: Changes): string =>
  changes[name] ?? (is_secret ? '' : (value ?? ''));

/** Adds a change; returning to the saved value removes it. */
export function withChange(changes: Changes, setting: Setting, text: string): Changes {
  const before = setting.is_secret ? undefined : (setting.value ?? '');
  const others = withoutChange(changes, setting.name);
  return text === before ? others : { ...others, [setting.name]: text };
}

export const withoutChange = (changes: Changes, name: string): Changes => {
  const { [name]: _, ...others } = changes;
  return others;
};

/** Converts changes for a call. */
export const toSettings = (changes: Changes) =>
  Object.entries(changes).map(([name, value]) => ({ name, ...(value !== '' && { value }) }));

/** Returns the setting that a failure is about: the failure names an index of the sent list, or the setting. */
export function findFaultySetting(
  field: string | undefined,
  sent: readonly { readonly name: string }[],
): string | undefined {
  const [, index] = /^settings\[(\d+)\]/.exec(field ?? '') ?? [];
  return index === undefined ? field : sent[Number(index)]?.name;
}
