import { truncatePans } from '../kernel/pan.ts';

type Values = Readonly<Record<string, string>>;

/** Details of an audit record about settings, each value as `name=value`. */
interface SettingDetails {
  readonly settings: readonly string[];
  readonly old_values?: readonly string[];
  readonly new_values?: readonly string[];
}

/**
 * Describes changed settings for the audit log. A value is recorded only where `isPublic` allows it, because any other
 * may be a secret. Other settings are recorded as set, and a card number in a value is truncated.
 */
export function buildSettingDetails(
  changed: readonly string[],
  before: Values,
  after: Values,
  isPublic: (name: string) => boolean,
): SettingDetails {
  const lines = (values: Values, secret: string): string[] =>
    changed.flatMap((name) => {
      const value = values[name];
      if (value === undefined) return [];
      return [`${name}=${isPublic(name) ? truncatePans(value) : secret}`];
    });
  const [old, added] = [lines(before, '(secret)'), lines(after, '(changed)')];
  return {
    settings: changed,
    ...(old.length > 0 && { old_values: old }),
    ...(added.length > 0 && { new_values: added }),
  };
}
