import { parseArgs } from 'node:util';
import { traceOf } from './report.ts';
import { type Plan, simulate } from './simulation.ts';

/** Many seeds, one after the other: `node bin/cardvault.mjs --run test/simulation/soak.ts --seeds 500`. */
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '100' },
    from: { type: 'string', default: '1' },
    requests: { type: 'string', default: '60' },
    processor: { type: 'string', default: 'acquirer,simulator' },
    /** Users check and resolve unknown outcomes. */
    users: { type: 'boolean', default: false },
    /** Continues after a seed that fails. */
    all: { type: 'boolean', default: false },
  },
});
const say = (text: string): boolean => process.stdout.write(`${text}\n`);

const totals = { seeds: 0, failed: 0, payments: 0, crashes: 0, acknowledged: 0, checks: 0, resolutions: 0, events: 0 };
for (let seed = Number(values.from); seed < Number(values.from) + Number(values.seeds); seed++) {
  for (const processor of values.processor.split(',') as Plan['processor'][]) {
    // Events take part in every second seed: their timers change the order of everything else.
    const events = seed % 2 === 0 ? { webhooks: 'sent' as const } : {};
    const requests = Number(values.requests);
    const report = await simulate({ seed, processor, requests, hasUsers: values.users, ...events });
    totals.seeds++;
    totals.payments += report.payments;
    totals.crashes += report.crashes;
    totals.acknowledged += report.acknowledged;
    totals.checks += report.checks;
    totals.resolutions += report.resolutions;
    totals.events += report.events;
    if (report.faults.length === 0) continue;
    totals.failed++;
    say(
      `seed ${seed}, ${processor}, ${values.requests} requests\n${values.all ? report.faults.join('\n') : traceOf(report)}`,
    );
    if (!values.all) process.exitCode = 1;
  }
  if (process.exitCode === 1) break;
}
say(JSON.stringify(totals));
