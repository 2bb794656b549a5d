import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { median } from './figures.ts';
import { FILLED_BY, requestNamed } from './requests.ts';
import { settingsFor } from './service.ts';
import { type Round, type Target, Testbed } from './testbed.ts';

/** A rotation of the keys of tokens under full load: what it costs the requests beside it, at the default rate. */
const MEASURED = ['tokenize 1 card, scheme 7', 'tokenize 100 cards, scheme 7', 'inspect a token'];
const CONNECTIONS = 64;
const READ = 2000;
const FILLING_SECONDS = 6 * 3600;
/** The service looks for a rotation every 5 seconds, and seals under the new version after 2. */
const BEGIN_MS = 10_000;
const POLL_MS = 2000;

export interface RotationSettings {
  readonly tokens: number;
  readonly rounds: number;
  readonly seconds: number;
}

const PROGRAM = join(import.meta.dirname, '..', 'bin', 'cardvault.mjs');

function keyring(directory: string, ...args: string[]) {
  const options = { env: settingsFor(directory, ''), encoding: 'utf8', maxBuffer: 2 ** 26 } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, [PROGRAM, 'keyring', ...args, '--json'], options);
  if (status !== 0) throw new Error(`keyring ${args.join(' ')}: ${stderr}`);
  return JSON.parse(stdout);
}

/** Undefined while records are still sealed again. */
function findResealed(directory: string): { readonly done: boolean; readonly resealed: number } {
  const keys = keyring(directory, 'status', '--no-count') as {
    purpose: string;
    state: string;
    rotation: { finished_at: string | null; resealed: number } | null;
  }[];
  const rotations = keys.filter(({ purpose, state }) => purpose === 'tokens' && state === 'current');
  return {
    done: rotations.every(({ rotation }) => rotation === null || rotation.finished_at !== null),
    resealed: rotations.reduce((sum, { rotation }) => sum + (rotation?.resealed ?? 0), 0),
  };
}

async function measure(testbed: Testbed, target: Target, { rounds, seconds }: RotationSettings): Promise<Round[][]> {
  const found: Round[][] = MEASURED.map(() => []);
  for (let round = 0; round < rounds; round++)
    for (const [index, name] of MEASURED.entries())
      found[index]?.push(await testbed.run(target, requestNamed(name), { seconds }));
  return found;
}

const rate = (rounds: readonly Round[] | undefined): number => median((rounds ?? []).map(({ perSecond }) => perSecond));
const p99 = (rounds: readonly Round[] | undefined): number => median((rounds ?? []).map((round) => round.p99));

export async function measureRotation(settings: RotationSettings, print: (line: string) => void): Promise<void> {
  const testbed = new Testbed();
  try {
    const { service, target } = await testbed.startService('SQLite');
    await testbed.connect([target], CONNECTIONS);
    const { cards = 1 } = FILLED_BY.tokens;
    await testbed.run(target, FILLED_BY.tokens, { seconds: FILLING_SECONDS, atMost: settings.tokens / cards });
    await testbed.fill(target, 'tokens', 'usual', READ);
    print(
      `${settings.tokens} tokens; ${settings.rounds} rounds of ${settings.seconds} s with ${CONNECTIONS} connections`,
    );
    await measure(testbed, target, { ...settings, rounds: 1 });
    const before = await measure(testbed, target, settings);
    const start = performance.now();
    keyring(service.directory, 'rotate', 'data', '--purpose', 'tokens');
    await wait(BEGIN_MS);
    const during = await measure(testbed, target, settings);
    if (findResealed(service.directory).done)
      throw new Error('the rotation ended before the measurement: use more tokens');
    for (const [index, name] of MEASURED.entries()) {
      const [one, other] = [rate(before[index]), rate(during[index])];
      const latency = `p99 ${p99(before[index]).toFixed(1)} and ${p99(during[index]).toFixed(1)} ms`;
      print(
        `${name}: ${Math.round(one)} and ${Math.round(other)} a second beside the rotation, ratio ${(other / one).toFixed(2)}; ${latency}`,
      );
    }
    for (let progress = findResealed(service.directory); ; progress = findResealed(service.directory)) {
      if (progress.done) {
        const seconds = (performance.now() - start) / 1000;
        print(`${progress.resealed} tokens sealed again in ${Math.round(seconds)} s`);
        return;
      }
      await wait(POLL_MS);
    }
  } finally {
    await testbed.stop();
  }
}
