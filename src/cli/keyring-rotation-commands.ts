import type { Command } from 'commander';
import type { KeyEnvironment, Purpose } from '../crypto/wrapped-key.ts';
import { delay } from '../kernel/clock.ts';
import { ENVIRONMENTS } from '../kernel/environment.ts';
import type { ApiKeyRotation } from '../rotation/api-key-rotation.ts';
import type { DestructionCandidate, KnownBackup, RootDestruction } from '../rotation/destruction.ts';
import type { EmergencyResult, FullRotation, Waiting } from '../rotation/emergency.ts';
import type { RootRotation } from '../rotation/root-rotation.ts';
import type { StartedRotation } from '../rotation/start-rotation.ts';
import type { WrappingRotation } from '../rotation/wrapping-rotation.ts';
import type { Rotation } from '../storage/key-rotation-store.ts';
import { type CliContext, type Core, withCore } from './context.ts';
import { invalidOption } from './options.ts';
import { formatTable, printResult, UsageError } from './output.ts';

/** `keyring rotate` and `keyring destroy`. Each may be repeated: it continues what an earlier one began. */
export function keyringRotationCommands(keyring: Command, tools: CliContext): void {
  rotateCommand(keyring, tools);
  destroyCommand(keyring, tools);
}

/** The keys that `keyring rotate` replaces, with the options that each accepts beside `--json`. */
const OPTIONS_BY_LEVEL = {
  root: ['prepare'],
  wrapping: ['environment'],
  data: ['account', 'environment', 'purpose', 'wait'],
  fingerprints: ['account', 'environment', 'wait'],
  digests: ['account', 'environment', 'purpose', 'wait'],
  'api-keys': ['environment'],
  signing: [],
  all: ['emergency'],
} as const satisfies Readonly<Record<string, readonly (keyof RotateOptions)[]>>;

type Level = keyof typeof OPTIONS_BY_LEVEL;

interface RotateOptions {
  readonly account?: string;
  readonly environment?: KeyEnvironment;
  readonly purpose?: string;
  readonly wait?: boolean;
  readonly prepare?: boolean;
  readonly emergency?: boolean;
  readonly json?: boolean;
}

type Services = Awaited<ReturnType<typeof toServices>>;

function rotateCommand(keyring: Command, tools: CliContext): void {
  keyring
    .command('rotate')
    .description('replace keys while the service runs')
    .argument('<keys>', 'root, wrapping, data, fingerprints, digests, api-keys, signing, or all: the first five')
    .option('--account <id>', 'data, fingerprints, digests: only keys of this account')
    .option('--environment <environment>', 'only keys of sandbox, production or service', parseKeyEnvironment)
    .option(
      '--purpose <purpose>',
      'data, digests: only keys of this purpose, see keyring status; digests: pan-indexes only so',
    )
    .option('--wait', 'data, fingerprints, digests: work in this process, unless a node does, and wait for the end')
    .option('--prepare', 'root: only store the next root key, to copy it to other nodes first')
    .option(
      '--emergency',
      'all: seal all records again at once, and destroy the replaced keys without waiting for a backup',
    )
    .option('--json', 'print JSON')
    .action((keys: string, options: RotateOptions) => {
      const level = toLevel(keys, options);
      return withCore(tools, async (core) => rotateLevel(tools, core, level, options));
    });
}

function toLevel(keys: string, options: RotateOptions): Level {
  const level = (Object.keys(OPTIONS_BY_LEVEL) as Level[]).find((each) => each === keys);
  if (level === undefined)
    throw new UsageError('expected root, wrapping, data, fingerprints, digests, api-keys, signing or all');
  const accepted: readonly string[] = OPTIONS_BY_LEVEL[level];
  const refused = Object.keys(options).find((name) => name !== 'json' && !accepted.includes(name));
  if (refused !== undefined) throw new UsageError(`--${refused}: not for keyring rotate ${level}`);
  return level;
}

async function rotateLevel(tools: CliContext, core: Core, level: Level, options: RotateOptions): Promise<void> {
  const services = await toServices(tools, core, { needsConsole: LEVELS_OF_ROWS.includes(level) });
  if (level === 'root') return rotateRoot(tools, services, options);
  if (level === 'wrapping') return rotateWrapping(tools, services, options);
  if (level === 'data' || level === 'fingerprints' || level === 'digests')
    return rotateRecords(tools, services, level, options);
  if (level === 'api-keys') return rotateApiKeys(tools, services, options);
  if (level === 'signing') return rotateSigning(tools, services, options);
  return rotateAll(tools, services, options);
}

const OWNER_BYTES = 16;
const KEY_ID = /^[0-9a-f]{16}$/;

const parseKeyEnvironment = (text: string): KeyEnvironment =>
  (['service', ...ENVIRONMENTS] as const).find((name) => name === text) ??
  invalidOption('expected sandbox, production or service');

/** Keys of these purposes exist in every vault with users of the console. */
const CONSOLE_PURPOSES: readonly Purpose[] = ['people', 'people-digests'];
/** The levels of keys that rows depend on, whose columns have to be known. */
const LEVELS_OF_ROWS: readonly Level[] = ['data', 'digests', 'all'];

/** Returns the dependencies of the use cases of rotation, with the columns of all tables that depend on keys. */
async function toServices(tools: CliContext, core: Core, { needsConsole }: { readonly needsConsole: boolean }) {
  const [{ listRotatedColumns }, { listBackups: list }, { listKeysByPurpose }] = await Promise.all([
    import('../tables.ts'),
    import('../backup/backup-store.ts'),
    import('../storage/wrapped-key-store.ts'),
  ]);
  // Without its columns nothing shows which rows need a key: one that they need would be replaced too early, and destroyed.
  const isMissing = needsConsole && tools.listRotatedConsoleColumns === undefined;
  const keys = isMissing
    ? await Promise.all(CONSOLE_PURPOSES.map((purpose) => listKeysByPurpose(core.database, purpose)))
    : [];
  if (keys.flat().length > 0)
    throw new UsageError(
      'the console is not installed, and this vault has rows of it that depend on keys; install it, and run the command again',
    );
  const columns = await listRotatedColumns(tools.listRotatedConsoleColumns);
  const listBackups = (): Promise<readonly KnownBackup[]> => list(core.database);
  return { ...core, ...columns, listBackups };
}

async function rotateRoot(tools: CliContext, services: Services, { prepare, json }: RotateOptions): Promise<void> {
  const { rotateRootKey } = await import('../rotation/root-rotation.ts');
  const done = await rotateRootKey(services, tools.operatorOrigin(), { onlyPrepare: prepare === true });
  printResult(tools, json, toRootView(done), describeRoot(done, services.custody.file));
}

const toRootView = ({ state, checkValue, previousCheckValue }: RootRotation) => ({
  state,
  check_value: checkValue,
  former_check_value: previousCheckValue,
});

function describeRoot({ state, checkValue, previousCheckValue }: RootRotation, file: string): string {
  const keep = `The former one (${previousCheckValue}) stays in ${file}.previous: older backups need it.`;
  if (state === 'prepared')
    return `prepared root key ${checkValue} in ${file}. Copy ${file} and ${file}.previous to the other nodes, then repeat the command without --prepare.`;
  if (state === 'rotated-before')
    return `the root key was replaced before by ${checkValue}. ${keep}\nBefore the next rotation: cardvault keyring destroy root`;
  return `replaced the root key ${previousCheckValue} by ${checkValue}. ${keep}\nCopy ${file} to the other nodes and to its safe place, then make a backup.`;
}

async function rotateWrapping(
  tools: CliContext,
  services: Services,
  { environment, json }: RotateOptions,
): Promise<void> {
  const [{ rotateWrappingKey }, { KEY_ENVIRONMENTS }] = await Promise.all([
    import('../rotation/wrapping-rotation.ts'),
    import('../rotation/emergency.ts'),
  ]);
  const done: WrappingRotation[] = [];
  for (const each of environment === undefined ? KEY_ENVIRONMENTS : [environment])
    done.push(await rotateWrappingKey(services, tools.operatorOrigin(), each));
  printResult(tools, json, { rotations: done.map(toWrappingView) }, done.map(describeWrapping).join('\n'));
}

const toWrappingView = ({ environment, version, rewrapped, isContinued }: WrappingRotation) => ({
  environment,
  version,
  rewrapped,
  continued: isContinued,
});

const describeWrapping = ({ environment, version, rewrapped }: WrappingRotation): string =>
  `${environment}: wrapping key version ${version}, ${rewrapped} data keys wrapped again`;

async function rotateRecords(
  tools: CliContext,
  services: Services,
  level: 'data' | 'fingerprints' | 'digests',
  options: RotateOptions,
): Promise<void> {
  const [{ startDataRotations }, { startFingerprintRotations }, { startDigestRotations }, waiting] = await Promise.all([
    import('../rotation/data-rotation.ts'),
    import('../rotation/fingerprint-rotation.ts'),
    import('../rotation/digest-rotation.ts'),
    import('../rotation/emergency.ts'),
  ]);
  const { account, environment, wait, json } = options;
  if (account !== undefined) await services.accounts.get(account);
  const selection = { account, environment, purpose: options.purpose as Purpose | undefined };
  const starts = { data: startDataRotations, fingerprints: startFingerprintRotations, digests: startDigestRotations };
  const started = await starts[level](services, tools.operatorOrigin(), selection);
  if (started.length === 0) throw new UsageError('no key is selected; see: cardvault keyring status');
  const { rotationRate } = tools.paths();
  if (wait === true)
    await withWaiting(tools, services, rotationRate, (each) => waiting.waitForRotations(services, each));
  const text = wait === true ? 'every record is under the new versions' : PROGRESS;
  printResult(tools, json, { rotations: started.map(toDataView) }, `${describeData(started)}\n${text}`);
}

async function rotateApiKeys(
  tools: CliContext,
  services: Services,
  { environment, json }: RotateOptions,
): Promise<void> {
  const { rotateApiKeyDigests } = await import('../rotation/api-key-rotation.ts');
  const rotations: ApiKeyRotation[] = [];
  for (const each of ENVIRONMENTS.filter((name) => environment === undefined || name === environment)) {
    const done = await rotateApiKeyDigests(services, tools.operatorOrigin(), each);
    if (done !== undefined) rotations.push(done);
  }
  if (rotations.length === 0) throw new UsageError('there is no API key; see: cardvault keyring status');
  const lines = rotations.map((each) => `${each.environment}: version ${each.version} of the key of digests`);
  const hint = 'API keys that were not used since are counted by: cardvault keyring status';
  printResult(tools, json, { rotations }, [...lines, hint].join('\n'));
}

async function rotateSigning(tools: CliContext, services: Services, { json }: RotateOptions): Promise<void> {
  const { rotateSigningKey } = await import('../rotation/signing-rotation.ts');
  const version = await rotateSigningKey(services, tools.operatorOrigin());
  const hint = 'Give auditors the new public key, which signs from now on: cardvault audit public-key';
  printResult(tools, json, { purpose: 'signing', version }, `version ${version} of the signing key\n${hint}`);
}

const PROGRESS = 'The service seals records again in the background. Progress: cardvault keyring status';

const toDataView = ({ owner, version, isContinued }: StartedRotation) => ({
  account: owner.account,
  environment: owner.environment,
  purpose: owner.purpose,
  version,
  continued: isContinued,
});

const describeData = (started: readonly StartedRotation[]): string =>
  formatTable(
    ['ENVIRONMENT', 'ACCOUNT', 'PURPOSE', 'VERSION'],
    started.map(({ owner, version, isContinued }) => [
      owner.environment,
      owner.account || '-',
      owner.purpose,
      isContinued ? `${version}, continued` : String(version),
    ]),
  );

/** Gives what seals records again in this process; other processes do it while they have the lease. */
async function withWaiting<Result>(
  tools: CliContext,
  services: Services,
  rate: number,
  act: (waiting: Waiting) => Promise<Result>,
): Promise<Result> {
  const [{ Resealing }, { Lease }] = await Promise.all([
    import('../rotation/resealing.ts'),
    import('../storage/lease.ts'),
  ]);
  const { database, time, random } = services;
  const owner = Buffer.from(random.bytes(OWNER_BYTES)).toString('hex');
  const lease = new Lease({ database, clock: () => time.steadyNow(), name: 'rotation', owner });
  const pause = (milliseconds: number): Promise<void> => delay(time, milliseconds);
  const holdsLease = (): Promise<boolean> => lease.acquire();
  const resealing = new Resealing({ ...services, rate, holdsLease, pause, onResealed: () => undefined });
  let printed = '';
  const onProgress = (unfinished: readonly Rotation[]): void => {
    const line = describeProgress(unfinished);
    if (line !== printed) tools.err(`${line}\n`);
    printed = line;
  };
  try {
    return await act({ reseal: () => resealing.run(), pause, onProgress });
  } finally {
    await lease.release();
  }
}

const describeProgress = (unfinished: readonly Rotation[]): string => {
  const rows = unfinished.reduce((sum, { resealed }) => sum + resealed, 0);
  return `keys in progress: ${unfinished.length}; records done: ${rows}`;
};

async function rotateAll(tools: CliContext, services: Services, { emergency, json }: RotateOptions): Promise<void> {
  const { rotateEverything, rotateInEmergency } = await import('../rotation/emergency.ts');
  const origin = tools.operatorOrigin();
  const { file } = services.custody;
  if (emergency !== true) {
    const done = await rotateEverything(services, origin);
    printResult(tools, json, toFullView(done), `${describeFull(done, describeRoot(done.root, file))}\n${PROGRESS}`);
    return;
  }
  const done = await withWaiting(tools, services, Number.POSITIVE_INFINITY, (waiting) =>
    rotateInEmergency(services, origin, waiting),
  );
  printResult(tools, json, toEmergencyView(done), describeEmergency(done, file));
}

const toFullView = ({ root, wrapping, data }: FullRotation) => ({
  root: toRootView(root),
  wrapping: wrapping.map(toWrappingView),
  data: data.map(toDataView),
});

const describeFull = ({ wrapping, data }: FullRotation, rootText: string): string =>
  [rootText, ...wrapping.map(describeWrapping), describeData(data)].join('\n');

const toEmergencyView = (done: EmergencyResult) => ({
  ...toFullView(done),
  destroyed: done.destroyed.map(toDestroyedView),
  former_root: toFormerRootView(done.formerRoot),
});

const describeEmergency = (done: EmergencyResult, file: string): string =>
  [
    describeFull(done, `replaced the root key ${done.root.previousCheckValue} by ${done.root.checkValue}`),
    describeDestroyed(done.destroyed),
    describeFormerRoot(done.formerRoot),
    `Copy ${file} to the other nodes and to its safe place, then make a backup.`,
  ].join('\n');

interface DestroyOptions {
  readonly destroyNow?: boolean;
  readonly json?: boolean;
}

function destroyCommand(keyring: Command, tools: CliContext): void {
  keyring
    .command('destroy')
    .description('destroy replaced keys that nothing needs any more; without ids: list them')
    .argument('[keys...]', 'ids of replaced keys, all for every one, or root for the former root key')
    .option('--destroy-now', 'do not wait for a newer backup and for the end of older ones')
    .option('--json', 'print JSON')
    .action((keys: readonly string[], options: DestroyOptions) =>
      withCore(tools, async (core) => {
        const services = await toServices(tools, core, { needsConsole: !keys.includes('root') });
        if (keys.length === 0) return listCandidates(tools, services, options);
        if (keys.includes('root')) {
          if (keys.length > 1) throw new UsageError('root: the former root key is destroyed by a command of its own');
          return destroyRoot(tools, services, options);
        }
        await destroySelected(tools, services, keys, options);
      }),
    );
}

async function listCandidates(tools: CliContext, services: Services, { destroyNow, json }: DestroyOptions) {
  const { listDestructionCandidates } = await import('../rotation/destruction.ts');
  const candidates = await listDestructionCandidates(services, { now: destroyNow === true });
  const table = formatTable(
    ['ID', 'ENVIRONMENT', 'ACCOUNT', 'PURPOSE', 'VERSION', 'CHECK VALUE', 'OBSTACLE'],
    candidates.map(({ key, obstacle }) => [
      key.id,
      key.environment,
      key.account || '-',
      key.purpose,
      String(key.version),
      key.checkValue,
      obstacle ?? '-',
    ]),
  );
  printResult(tools, json, candidates.map(toDestroyedView), table);
}

async function destroySelected(
  tools: CliContext,
  services: Services,
  keys: readonly string[],
  { destroyNow, json }: DestroyOptions,
): Promise<void> {
  const { destroyKeys, listDestructionCandidates } = await import('../rotation/destruction.ts');
  const options = { now: destroyNow === true };
  const isAll = keys.length === 1 && keys[0] === 'all';
  if (!isAll && keys.some((key) => !KEY_ID.test(key)))
    throw new UsageError('expected ids of 16 hexadecimal digits, all or root');
  const ids = isAll ? {} : { ids: new Set(keys) };
  const destroyed = await destroyKeys(services, tools.operatorOrigin(), { ...options, ...ids });
  const kept = (await listDestructionCandidates(services, options)).filter(({ key }) => isAll || keys.includes(key.id));
  if (!isAll && destroyed.length === 0) {
    const [first] = kept;
    throw new UsageError(
      first === undefined
        ? 'there is no such replaced key; see: cardvault keyring destroy'
        : `${first.key.id} is kept: ${first.obstacle}`,
    );
  }
  const lines = [describeDestroyed(destroyed), ...kept.map(({ key, obstacle }) => `kept ${key.id}: ${obstacle}`)];
  const view = { destroyed: destroyed.map(toDestroyedView), kept: kept.map(toDestroyedView) };
  printResult(tools, json, view, lines.join('\n'));
}

async function destroyRoot(tools: CliContext, services: Services, { destroyNow, json }: DestroyOptions): Promise<void> {
  const { destroyFormerRootKey } = await import('../rotation/destruction.ts');
  const done = await destroyFormerRootKey(services, tools.operatorOrigin(), { now: destroyNow === true });
  if (done.checkValue === undefined) throw new UsageError('there is no former root key');
  printResult(tools, json, toFormerRootView(done), describeFormerRoot(done));
}

const toBackupViews = (backups: readonly KnownBackup[]) => backups.map(({ id, file }) => ({ id, file }));

const toDestroyedView = ({ key, obstacle, backups, leftOver }: DestructionCandidate) => ({
  id: key.id,
  account: key.account,
  environment: key.environment,
  purpose: key.purpose,
  version: key.version,
  check_value: key.checkValue,
  obstacle: obstacle ?? null,
  left_over: leftOver,
  backups: toBackupViews(backups),
});

function describeDestroyed(destroyed: readonly DestructionCandidate[]): string {
  const lines = destroyed.map(
    ({ key }) =>
      `destroyed ${key.id}: ${key.purpose} of ${key.account || key.environment}, version ${key.version}, check value ${key.checkValue}`,
  );
  const backups = new Map(destroyed.flatMap((each) => each.backups.map((backup) => [backup.id, backup] as const)));
  const still = [...backups.values()].map(
    ({ id, file }) => `backup ${id} still contains them, under the root key of its time: ${file}`,
  );
  return [...(lines.length === 0 ? ['nothing to destroy'] : lines), ...still].join('\n');
}

const toFormerRootView = ({ checkValue, backups }: RootDestruction) => ({
  former_check_value: checkValue ?? null,
  unreadable_backups: toBackupViews(backups),
});

const describeFormerRoot = ({ checkValue, backups }: RootDestruction): string =>
  [
    checkValue === undefined ? 'there is no former root key' : `destroyed the former root key ${checkValue}`,
    ...backups.map(({ id, file }) => `backup ${id} cannot be read any more: ${file}`),
  ].join('\n');
