import { mayDumpCore } from '../crypto/core-dumps.ts';
import { type Check, ok, problem, warning } from './check.ts';

/** Rules about the machine and the process of the service. The texts are those of files below `/proc` of Linux. */

const OLDEST_NODE = 24;
/** Each connection of a client takes one file, and each listener and thread some of its own. */
const FEWEST_FILES = 4096;

/** `version`: of `process.version`. */
export function checkNode(version: string): Check {
  const major = Number(version.replace(/^v/, '').split('.')[0]);
  if (major < OLDEST_NODE)
    return problem('node', `Node ${version} is too old`, `install Node ${OLDEST_NODE} or a newer even version`);
  if (major % 2 === 1)
    return warning('node', `Node ${version} gets no long-term support`, 'use a version with an even number');
  return ok('node', `Node ${version}`);
}

/** `user`: the number of the user of the service; undefined where it is unknown. */
export function checkUser(user: number | undefined, isRunning: boolean): Check {
  if (user === undefined) return ok('user', 'the user of the service is not known');
  if (user === 0)
    return problem(
      'user',
      isRunning ? 'the service runs as root' : 'the data directory belongs to root, as if the service ran as root',
      'run the service as a user of its own, who owns the data directory',
    );
  return ok('user', `the service has user ${user}`);
}

/** `limits`: `/proc/PID/limits`; `pattern`: `core_pattern` of the kernel. Both are empty where the system has none. */
export function checkCoreDumps(limits: string, pattern: string): Check {
  const name = 'core dumps';
  const mayDump = mayDumpCore(() => limits);
  if (mayDump === undefined)
    return warning(
      name,
      'the system does not state the limit',
      'forbid core dumps: they contain keys and card numbers',
    );
  if (mayDump)
    return problem(
      name,
      'a crash may write keys and card numbers to a file',
      'start the service with bin/cardvault.mjs, or set the limit to 0 (systemd: LimitCORE=0)',
    );
  const [, program = ''] = /^\|\s*(\S+)/.exec(pattern) ?? [];
  if (program === '' || program.endsWith('/systemd-coredump')) return ok(name, 'a crash writes no memory to a file');
  return warning(
    name,
    `the kernel passes crashes to ${program}, whatever the limit is`,
    'configure that program to drop them, or set kernel.core_pattern to core',
  );
}

/** `scope`: `ptrace_scope` of the kernel; empty where it has none, and restricts nothing. */
export const checkMemoryReaders = (scope: string): Check =>
  /^[1-3]$/.test(scope.trim())
    ? ok('memory', 'the kernel restricts which processes can read the memory of others')
    : warning(
        'memory',
        'every process of the same user can read the memory of the service',
        'set kernel.yama.ptrace_scope to 1 where the kernel has it, and run nothing else as that user',
      );

/**
 * `swaps`: `/proc/swaps`; undefined where the system does not state it. `isEncrypted`: whether a device is encrypted;
 * undefined where that is unknown.
 */
export function checkSwap(swaps: string | undefined, isEncrypted: (device: string) => boolean | undefined): Check {
  const name = 'swap';
  if (swaps === undefined)
    return warning(name, 'the system does not state its swap space', 'encrypt the swap space, or use none');
  const devices = swaps
    .split('\n')
    .slice(1)
    .map((line) => line.split(/\s+/)[0] ?? '')
    .filter((device) => device !== '' && !/\/zram[0-9]+$/.test(device));
  const open = devices.filter((device) => isEncrypted(device) !== true);
  if (open.length > 0)
    return warning(
      name,
      `memory with card numbers may be written to ${open.join(', ')}, which is not known to be encrypted`,
      'encrypt it, or switch it off: swapoff -a',
    );
  return ok(name, devices.length === 0 ? 'no memory is written to a disk' : 'every swap space is encrypted');
}

/** `limits`: `/proc/PID/limits`; empty where the system has none. */
export function checkOpenFiles(limits: string): Check {
  const name = 'open files';
  const soft = /^Max open files +(\S+)/m.exec(limits)?.[1];
  if (soft === undefined) return ok(name, 'the system states no limit');
  if (soft !== 'unlimited' && Number(soft) < FEWEST_FILES)
    return warning(
      name,
      `the limit is ${soft}, and each connection takes one`,
      `raise it to ${FEWEST_FILES} or more (systemd: LimitNOFILE)`,
    );
  return ok(name, `the limit is ${soft}`);
}
