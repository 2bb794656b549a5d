/**
 * How much a run of the tests covers. `npm run test:fast` is for every edit, `npm test` for every change, and
 * `npm run test:long` for a release: it repeats longer whatever `npm test` shortens.
 */
export type Scope = 'fast' | 'usual' | 'long';

/** The variable by which the runner hands the scope to the processes of the tests. */
export const SCOPE = 'TEST_SCOPE';

const scopes: readonly Scope[] = ['fast', 'usual', 'long'];

export const scope: Scope = scopes.find((each) => each === process.env[SCOPE]) ?? 'usual';
export const isLong = scope === 'long';

/** The option `skip` of a test whose claim has a shorter test in `npm test`. */
export const onlyLong: string | false = isLong ? false : 'only in npm run test:long';

/** Returns how often, how many or how long, by scope. */
export const inScope = <T>({ fast, usual, long }: { fast?: T; usual: T; long: T }): T =>
  isLong ? long : scope === 'fast' ? (fast ?? usual) : usual;
