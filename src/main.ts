import { existsSync, writeSync } from 'node:fs';
import { openCore, startService } from './app.ts';
import { runCommandLine } from './cli/cli.ts';
import { UsageError } from './cli/output.ts';
import { type Config, readConfig } from './config.ts';
import { describeError, openLog } from './http/log.ts';

const clock = (): number => Date.now();

/** Read once, by whoever asks first: help and version need none. */
let known: Config | undefined;
const configuration = (): Config => {
  known ??= readConfig(process.env);
  return known;
};

const PAUSE_MS = 5;

/**
 * Writes all of it before it returns, so that nothing is lost when the process ends. A pipe may take a part, or nothing
 * for the moment when another process made it non-blocking; a reader that has gone, as with `| head`, is no fault.
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
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
    }
  }
}

/** A second signal does not cut the first one's drain short. */
const untilStopped = (): Promise<void> =>
  new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => resolve());
  });

// Would open the debugger, and with it all memory, to whoever may send signals.
process.on('SIGUSR1', () => undefined);

// Started through bin/cardvault.mjs by another Node: never outlive it.
process.channel?.unref();
process.on('disconnect', () => process.exit(1));

process.exitCode = await runCommandLine(process.argv.slice(2), {
  clock,
  paths: configuration,
  open: async ({ make, databaseFile }) => {
    const config = databaseFile === undefined ? configuration() : { ...configuration(), databaseFile };
    if (make !== true && !existsSync(config.databaseFile)) {
      const hint = 'start the service once, or run: cardvault migrate';
      throw new UsageError(`there is no vault at ${config.databaseFile}; ${hint}`);
    }
    return openCore(config, clock);
  },
  start: async () => {
    const config = configuration();
    const log = openLog(config.logLevel);
    process.on('exit', () => log.flush());
    // The message may quote data, so only kind and place are told before the process ends.
    process.on('uncaughtException', (error) => {
      log.error('crashed', describeError(error));
      process.exit(1);
    });
    return startService(config, clock, log);
  },
  untilStopped,
  out: (text) => writeAll(1, text),
  err: (text) => writeAll(2, text),
});
