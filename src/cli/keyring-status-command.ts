import type { Command } from 'commander';
import { keyCheckValue } from '../crypto/custody.ts';
import { DAY, formatIso8601, formatIso8601OrNull } from '../kernel/clock.ts';
import type { KeyState } from '../rotation/key-states.ts';
import type { Rotation } from '../storage/key-rotation-store.ts';
import { type CliContext, type Core, withCore } from './context.ts';
import { formatTable, printResult } from './output.ts';

/** `keyring status`. */
export function keyringStatusCommand(keyring: Command, tools: CliContext): void {
  keyring
    .command('status')
    .description('list the keys with check values, ages, and what is sealed under each version')
    .option('--no-count', 'do not count the rows that are sealed under each key; counting reads every row')
    .option('--json', 'print JSON')
    .action(({ count, json }: { count: boolean; json?: boolean }) =>
      withCore(tools, async (core) => {
        const [{ listKeyStates }, { listRotatedColumns }] = await Promise.all([
          import('../rotation/key-states.ts'),
          import('../tables.ts'),
        ]);
        const columns = await listRotatedColumns(tools.listRotatedConsoleColumns);
        const states = await listKeyStates({ ...core, ...columns }, { count });
        const keys = [await toRootView(core, states), ...states.map((state) => toView(state, core.clock()))];
        printResult(tools, json, keys, toTable(keys));
      }),
    );
}

type KeyView = ReturnType<typeof toView>;

const toView = ({ key, kind, state, replacedAt, dependents, rotation }: KeyState, now: number) => ({
  id: key.id,
  account: key.account,
  environment: key.environment as string,
  purpose: key.purpose as string,
  kind: kind as string,
  version: key.version,
  check_value: key.checkValue,
  state: state as string,
  age_days: Math.floor((now - key.createdAt) / DAY),
  reserved_uses: key.reserved,
  sealed: dependents ?? null,
  created_at: formatIso8601(key.createdAt),
  replaced_at: formatIso8601OrNull(replacedAt),
  destroyed_at: formatIso8601OrNull(key.destroyedAt),
  rotation: state === 'current' && rotation !== undefined ? toRotationView(rotation) : null,
});

const toRotationView = ({ startedAt, finishedAt, resealed, leftOver, position }: Rotation) => ({
  started_at: formatIso8601(startedAt),
  finished_at: formatIso8601OrNull(finishedAt),
  resealed,
  left_over: leftOver,
  table: position?.table ?? null,
});

/** The root key is in custody, and not among the keys of the database. */
async function toRootView({ custody, root, database, clock }: Core, states: readonly KeyState[]): Promise<KeyView> {
  const [{ ROOT_OWNER }, { findRotation }] = await Promise.all([
    import('../rotation/rotation-events.ts'),
    import('../storage/key-rotation-store.ts'),
  ]);
  const rotation = await findRotation(database, ROOT_OWNER);
  const wrapping = states.filter(({ kind, state }) => kind === 'wrapping' && state !== 'destroyed');
  const createdAt = rotation?.startedAt ?? Math.min(...wrapping.map(({ key }) => key.createdAt));
  const { previous } = await custody.open();
  return {
    ...{ id: 'root', account: '', environment: 'service', purpose: 'root', kind: 'root' },
    version: rotation?.version ?? 1,
    check_value: keyCheckValue(root),
    state: 'current',
    age_days: Math.floor((clock() - createdAt) / DAY),
    reserved_uses: 0,
    sealed: wrapping.length,
    created_at: formatIso8601(createdAt),
    ...{ replaced_at: null, destroyed_at: null },
    rotation: rotation === undefined || previous === undefined ? null : toRotationView(rotation),
  };
}

function toTable(keys: readonly KeyView[]): string {
  const rows = keys.map((key) => [
    key.id,
    key.environment,
    key.account || '-',
    key.purpose,
    String(key.version),
    key.check_value,
    describeState(key),
    `${key.age_days} d`,
    key.sealed === null ? '-' : String(key.sealed),
    String(key.reserved_uses),
  ]);
  const head = ['ID', 'ENVIRONMENT', 'ACCOUNT', 'PURPOSE', 'VERSION', 'CHECK VALUE', 'STATE', 'AGE', 'SEALED', 'USES'];
  return formatTable(head, rows);
}

function describeState({ state, rotation, kind }: KeyView): string {
  if (kind === 'root' && rotation !== null) return 'current, the former one still exists';
  if (rotation === null || rotation.finished_at !== null) return state;
  return `${state}, ${rotation.resealed} sealed again`;
}
