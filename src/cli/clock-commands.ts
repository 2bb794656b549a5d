import type { Command } from 'commander';
import { formatIso8601, formatIso8601OrNull, SECOND } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import { DISTRUST_TEXTS, type Distrust } from '../kernel/time-guard.ts';
import { asOperator, type CliContext, type Core, withCore } from './context.ts';
import { formatDetails, printResult } from './output.ts';

/** The deciding clock, and the faults that the service finds in it. Times in milliseconds. */
interface ClockState {
  readonly time: number;
  readonly distrust: Distrust | undefined;
  /** True when a service reported the fault; otherwise this command compared the clock with the last trusted time. */
  readonly isReported: boolean;
  readonly lastTrusted: number | undefined;
  /**
   * The last trusted time plus the time that has passed since; undefined while time is trusted, and without a last
   * trusted time.
   */
  readonly expected: number | undefined;
}

export function clockCommands(program: Command, tools: CliContext): void {
  const clock = program.command('clock').description('inspect and confirm the clock that decides what expires');

  clock
    .command('status')
    .description('show whether time is trusted; while it is not, no expired record is deleted or voided')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: boolean }) =>
      withCore(tools, async (core) => {
        const state = await readState(core);
        printResult(tools, json, toView(state), toText(state));
      }),
    );

  clock
    .command('confirm')
    .description('trust the current time; compare it with another clock first')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: boolean }) =>
      withCore(tools, async (core) => {
        const state = await readState(core);
        const isConfirmed = state.distrust !== undefined;
        if (isConfirmed) await storeConfirmation(core, state, tools);
        const result = isConfirmed
          ? 'confirmed; it takes effect on every node within 5 seconds'
          : 'nothing to confirm: time is trusted';
        printResult(tools, json, { confirmed: isConfirmed, ...toView(state) }, `${toText(state)}\n\n${result}`);
      }),
    );
}

async function readState({ clock, time, clockRecords }: Core): Promise<ClockState> {
  const { trusted, distrust } = await clockRecords.list();
  const now = clock();
  // A service renews its report every 2 seconds: an older one was left by a process that ended, or by another clock.
  if (distrust !== undefined && Math.abs(now - distrust.at) <= LIMITS.clockToleranceMs) {
    const expected = distrust.expected === null ? undefined : distrust.expected + now - distrust.at;
    return { time: now, distrust: distrust.reason, isReported: true, lastTrusted: trusted?.at, expected };
  }
  const reading = time.read();
  // While time is trusted, the difference to the last trusted time is the age of that record, and no fault.
  const expected = reading.distrust === undefined ? undefined : reading.expected;
  return { time: now, distrust: reading.distrust, isReported: false, lastTrusted: trusted?.at, expected };
}

/** Stores the time for the nodes, which poll it while they do not trust their own, and for the next start. */
async function storeConfirmation(core: Core, state: ClockState, tools: CliContext): Promise<void> {
  const { time: at, distrust = '' } = state;
  const { time, expected, difference_seconds: difference } = toView(state);
  const detail = {
    time,
    reason: distrust,
    ...(expected !== null && { expected, difference_seconds: difference ?? 0 }),
  };
  const event = { action: 'clock.confirmed', outcome: 'success', account: '', environment: '', detail } as const;
  const { clockRecords } = core;
  await asOperator(tools, core, async (transaction) => {
    transaction.write(await clockRecords.upsert('confirmed', { at }));
    transaction.write(await clockRecords.upsert('trusted', { at, since: at }));
    transaction.write(clockRecords.delete('distrust'));
    transaction.record(event);
  });
}

const toView = ({ time, distrust, lastTrusted, expected }: ClockState) => ({
  trusted: distrust === undefined,
  reason: distrust ?? null,
  time: formatIso8601(time),
  last_trusted: formatIso8601OrNull(lastTrusted),
  expected: formatIso8601OrNull(expected),
  difference_seconds: expected === undefined ? null : Math.round((time - expected) / SECOND),
});

function toText(state: ClockState): string {
  const { time, last_trusted, expected, difference_seconds } = toView(state);
  return formatDetails([
    ['time', time],
    ['trusted', trustText(state)],
    ['last trusted', last_trusted ?? 'unknown'],
    ...(expected === null ? [] : [['expected', expected] as const]),
    ...(difference_seconds === null ? [] : [['difference', `${difference_seconds} s`] as const]),
  ]);
}

/**
 * Only a service knows whether records are due. Its start decides by that after a long stop and without a stored time.
 */
function trustText({ distrust, isReported }: ClockState): string {
  if (distrust === undefined) return 'yes';
  if (!isReported && distrust === 'long-stop') return `not yet: no service ran for long; ${NEXT_START}`;
  if (!isReported && distrust === 'no-record') return `not yet: no trusted time is stored; ${NEXT_START}`;
  return `no: ${DISTRUST_TEXTS[distrust]}`;
}

const NEXT_START = 'the next start trusts the time unless records are due to be deleted or voided';
