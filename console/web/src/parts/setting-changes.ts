/** One of a closed list of settings, as the service tells it. */
export interface Setting {
  readonly name: string;
  /** Null: not set, or secret. */
  readonly value: string | null;
  readonly is_set: boolean;
  /** In force when not set. */
  readonly fallback: string | null;
  readonly expected: string;
  readonly is_secret: boolean;
}

/** What a person has changed of the settings, by name; an empty text: no longer set. What is not in it stays. */
export type Changes = Readonly<Record<string, string>>;

/** As the field shows it. */
export const displayValue = ({ name, value, is_secret }: Setting, changes: Changes): string =>
  changes[name] ?? (is_secret ? '' : (value ?? ''));

/** With one more change; what is as it was is none. */
export function withChange(changes: Changes, setting: Setting, text: string): Changes {
  const before = setting.is_secret ? undefined : (setting.value ?? '');
  const others = withoutChange(changes, setting.name);
  return text === before ? others : { ...others, [setting.name]: text };
}

export const withoutChange = (changes: Changes, name: string): Changes => {
  const { [name]: _, ...others } = changes;
  return others;
};

/** As calls take them. */
export const toSettings = (changes: Changes) =>
  Object.entries(changes).map(([name, value]) => ({ name, ...(value !== '' && { value }) }));

/** Name of the setting that a failure is about: it names a place in what was sent, or the setting itself. */
export function findFaultySetting(
  field: string | undefined,
  sent: readonly { readonly name: string }[],
): string | undefined {
  const [, index] = /^settings\[(\d+)\]/.exec(field ?? '') ?? [];
  return index === undefined ? field : sent[Number(index)]?.name;
}
