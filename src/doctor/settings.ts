import { type Check, faultsOr, ok, problem, warning } from './check.ts';

/** Rules about the settings as variables of the environment. */

const NAME = 'settings';
const PREFIX = 'CARDVAULT_';

/**
 * `problems`: of the configuration; empty when it is valid. `names`: those of all variables. A variable that resembles a
 * setting is pointed out, because the service ignores it.
 */
export function checkSettings(problems: readonly string[], names: readonly string[]): readonly Check[] {
  const faults = [
    ...problems.map((text) =>
      problem(NAME, text, 'correct it, see docs/operations.md#settings: the service does not start with it'),
    ),
    ...names
      .filter((name) => !name.startsWith(PREFIX) && /^_?card[_-]?vault[_-]/i.test(name))
      .map((name) => warning(NAME, `${name} is ignored`, `settings begin with ${PREFIX}, in capitals`)),
  ];
  const set = names.filter((name) => name.startsWith(PREFIX)).sort();
  const message = set.length === 0 ? 'every setting has its default' : `set here: ${set.join(', ')}`;
  return faultsOr(faults, ok(NAME, message));
}

/** `names`: of settings whose value contains a password. Other programs of the user can read variables. */
export const checkPasswords = (names: readonly string[]): readonly Check[] =>
  names.map((name) =>
    warning(
      NAME,
      `${name} contains a password, which other processes of the user can read`,
      'put the password into a file, and name it in the setting for that file',
    ),
  );
