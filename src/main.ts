import { existsSync, fstatSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { isatty } from 'node:tty';
import { askOnTerminal } from './cli/ask-secret.ts';
import { runCommandLine } from './cli/command-line.ts';
import { UsageError } from './cli/output.ts';
import { classifyOutput } from './cli/standard-output.ts';
import { clockOf, clocksOf, elapsed, wallClock } from './clocks.ts';
import { type Config, parseConfig } from './config.ts';
import { systemRandom } from './crypto/random.ts';
import { collectWithoutHelpers, releaseStartMemory } from './start-memory.ts';

/** Read once, on first use: help and version need none. */
let cachedConfig: Config | undefined;
const configuration = (): Config => {
  cachedConfig ??= parseConfig(process.env);
  return cachedConfig;
};

const configurationFor = (file: string | undefined): Config =>
  file === undefined ? configuration() : { ...configuration(), database: { kind: 'sqlite', file } };

const WRITE_RETRY_MS = 5;

/**
 * Writes everything before it returns, so that nothing is lost when the process ends. A pipe may accept a part, or
 * nothing at the moment when another process made it non-blocking; a closed reader, as with `| head`, is no fault.
 */
function writeAll(descriptor: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(descriptor, bytes, at);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EPIPE') return;
      if (code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, WRITE_RETRY_MS);
    }
  }
}

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** A second signal does not shorten the drain of the first one. */
const untilStopped = (): Promise<void> =>
  new Promise((resolve) => {
    for (const signal of STOP_SIGNALS) process.on(signal, () => resolve());
  });

/** A start serves no client yet, and may be waiting for its database: it need not complete in order to stop. */
async function exitOnSignalDuring<T>(start: () => Promise<T>): Promise<T> {
  const leave = (): void => process.exit();
  for (const signal of STOP_SIGNALS) process.on(signal, leave);
  try {
    return await start();
  } finally {
    for (const signal of STOP_SIGNALS) process.off(signal, leave);
  }
}

// Node would open the debugger, and with it all memory, to any process that may send signals.
process.on('SIGUSR1', () => undefined);

// Started through bin/cardvault.mjs by another Node process: this one ends with it.
process.channel?.unref();
process.on('disconnect', () => process.exit(1));

/** The console; undefined in an installation without its folder. */
const webConsole = existsSync(join(import.meta.dirname, '../console/open.ts'))
  ? await import('../console/open.ts')
  : undefined;

/** Settings that not every custody allows. */
const NO_PEERS = Object.fromEntries(['PORT', 'CERT', 'KEY', 'PEERS'].map((name) => [`CARDVAULT_UNSEAL_${name}`, '']));

const askSecret = askOnTerminal((text) => writeAll(2, text));

// Most of the code opens a vault: it is loaded by the commands that need it.
const exitCode = await runCommandLine(process.argv.slice(2), {
  clock: wallClock,
  paths: configuration,
  open: async ({ createIfMissing: make, databaseFile, roots }) => {
    const [{ openCore }, { assertNoInterruptedRestore }] = await Promise.all([
      import('./core.ts'),
      import('./storage/sqlite/restore.ts'),
    ]);
    const config = configurationFor(databaseFile);
    const { database } = config;
    if (database.kind === 'sqlite') assertNoInterruptedRestore(database.file);
    if (make !== true && database.kind === 'sqlite' && !existsSync(database.file)) {
      const hint = 'start the service once, or run: cardvault migrate';
      throw new UsageError(`there is no vault at ${database.file}; ${hint}`);
    }
    const core = await openCore(config, clocksOf(config), { createIfMissing: make === true, roots, ask: askSecret });
    await webConsole?.openConsole(core);
    return core;
  },
  openDatabase: async (address) => {
    const { openDatabase } = await import('./storage/open.ts');
    const config = parseConfig({ ...process.env, CARDVAULT_DATABASE_URL: address });
    return openDatabase(config.database, clockOf(config), systemRandom());
  },
  openConfiguredDatabase: async () => {
    const { openDatabase } = await import('./storage/open.ts');
    const config = configuration();
    return openDatabase(config.database, clockOf(config), systemRandom());
  },
  unlockJournal: async (opened) => (await import('./core.ts')).unlockJournal(configuration(), opened, askSecret),
  start: async () => {
    const config = configuration();
    collectWithoutHelpers();
    const { describeError, openLog } = await import('./http/log.ts');
    const log = openLog(config.logLevel, wallClock);
    process.on('exit', () => log.flush());
    // The message may quote data, so only type and source position are reported before the process ends.
    process.on('uncaughtException', (error) => {
      log.error('crashed', describeError(error));
      process.exit(1);
    });
    const { startService } = await import('./app.ts');
    const running = await exitOnSignalDuring(() =>
      startService(config, clocksOf(config), log, { openConsole: webConsole?.openConsole, ask: askSecret }),
    );
    releaseStartMemory(running.core.time);
    return running;
  },
  askSecret,
  custodyFor: (rootKey, file) =>
    parseConfig({ ...process.env, CARDVAULT_ROOT_KEY: rootKey, CARDVAULT_ROOT_KEY_FILE: file, ...NO_PEERS }).rootKey,
  holdRootKey: async (onGiven) => {
    const config = configuration();
    const { holdRootKey } = await import('./sealed.ts');
    return holdRootKey(config, clocksOf(config), onGiven);
  },
  surroundings: {
    installation: configuration,
    variables: Object.keys(process.env),
    stopwatch: elapsed,
    random: systemRandom(),
  },
  untilStopped,
  standardOutput: classifyOutput(isatty(1), process.env['JOURNAL_STREAM'], fstatSync(1, { bigint: true })),
  command: existsSync(join(import.meta.dirname, '../package-lock.json')) ? 'npx cardvault' : 'cardvault',
  listConsoleTables: webConsole?.listConsoleTables,
  listRotatedConsoleColumns: webConsole?.listRotatedConsoleColumns,
  addConsoleCommands: webConsole?.operatorCommands,
  out: (text) => writeAll(1, text),
  err: (text) => writeAll(2, text),
});
// Without this, Node gives signals back to the system while it takes its heap apart: another SIGTERM would then end the process as
// one that was killed.
process.exit(exitCode);
