import { cpus, totalmem } from 'node:os';
import { aligned, type Table } from '../../bench/table.ts';
import type { Injected, Outcome } from './chaos.ts';
import type { Attempt } from './ledger.ts';

/** Results for clients other than responses of status 200 and 400, in this order. */
const SEEN: readonly string[] = ['409', '503', 'refused', 'reset', 'silence', 'other'];

const seen = ({ end }: Attempt): string => {
  const label = typeof end === 'object' ? String(end.status) : end;
  return SEEN.includes(label) ? label : ['200', '400'].includes(label) ? 'fine' : 'other';
};

const attemptsOf = ({ testbed }: Outcome): Attempt[] => testbed.ledger.requests.flatMap(({ attempts }) => attempts);

const seconds = (milliseconds: number | undefined): string =>
  milliseconds === undefined ? 'never' : (milliseconds / 1000).toFixed(2);

/** The greatest over all times that a fault was injected. */
const worst = (injected: readonly Injected[], value: (one: Injected) => readonly (number | undefined)[]): string => {
  const values = injected.flatMap(value);
  return values.includes(undefined) ? 'never' : seconds(Math.max(...values.map(Number)));
};

const byFault = ({ injected }: Outcome): Map<string, Injected[]> => {
  const groups = new Map<string, Injected[]>();
  for (const one of injected) groups.set(one.fault.name, [...(groups.get(one.fault.name) ?? []), one]);
  return groups;
};

/** Seconds, the worst of all times and nodes. */
export const recoveryTable = (outcome: Outcome): Table => [
  ['fault', 'times', 'lasted s', 'write since begin s', 'write since end s', 'longest without a write s'],
  ...[...byFault(outcome)].map(([name, all]) => [
    name,
    String(all.length),
    worst(all, ({ began, ended }) => [ended - began]),
    worst(all, ({ recoveries }) => recoveries.map(({ sinceBegan }) => sinceBegan)),
    worst(all, ({ recoveries }) => recoveries.map(({ sinceEnded }) => sinceEnded)),
    worst(all, ({ recoveries }) => recoveries.map(({ longest }) => longest)),
  ]),
];

/** Requests that ended between the begin of each fault and that of the next. */
export function errorTable(outcome: Outcome): Table {
  const { injected, load } = outcome;
  const names = ['none yet', ...byFault(outcome).keys()];
  const rows = new Map(names.map((name) => [name, [0, ...SEEN.map(() => 0)]]));
  for (const attempt of attemptsOf(outcome)) {
    if (attempt.endedAt > load.ended) continue;
    const at = injected.findLastIndex(({ began }) => began <= attempt.endedAt);
    const row = rows.get(injected[at]?.fault.name ?? 'none yet') ?? [];
    const column = SEEN.indexOf(seen(attempt));
    row[0] = (row[0] ?? 0) + 1;
    if (column >= 0) row[column + 1] = (row[column + 1] ?? 0) + 1;
  }
  const counted = (row: readonly number[]): string[] => row.map((value) => value.toLocaleString('en-US'));
  return [['fault', 'requests', ...SEEN], ...[...rows].map(([name, row]) => [name, ...counted(row)])];
}

export const summary = ({ testbed, load, injected, findings }: Outcome): string => {
  const { requests } = testbed.ledger;
  const sent = requests.reduce((sum, { attempts }) => sum + attempts.length, 0);
  const acknowledged = requests.filter(({ response }) => response !== undefined).length;
  const unknown = requests.filter(({ isUnknown }) => isUnknown).length;
  const counted = [requests.length, sent, acknowledged, unknown].map((value) => value.toLocaleString('en-US'));
  const [created, all, known, lost] = counted;
  return (
    `${injected.length} faults in ${seconds(load.ended - load.began)} s of load; ${created} requests, sent ${all} times; ` +
    `${known} acknowledged, ${lost} without a known outcome; ${findings.length} findings`
  );
};

export function section(outcome: Outcome, date: Date): string {
  const { release, options, skipped } = outcome;
  const machine = `${cpus().length} cores (${cpus()[0]?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GiB`;
  const left = skipped.map(({ name, why }) => `\`${name}\` was left out: ${why}.`);
  return `## Faults

${date.toISOString().slice(0, 10)}; ${machine}, Node ${process.versions.node}, PostgreSQL ${release}: two nodes, a primary and a
synchronous standby, ${options.clients} clients and the checker on one machine; seed ${options.seed}. What is done and how it
is checked: [Chaos](../docs/chaos.md).

${summary(outcome)}.${left.length === 0 ? '' : ` ${left.join(' ')}`}

${aligned(recoveryTable(outcome))}

Seconds, the worst of all nodes and times. "Since begin" and "since end": until the answer to the first write that was sent
after the fault began, and after it ended.

${aligned(errorTable(outcome))}

Requests that ended between the begin of a fault and that of the next, and the responses and failures other than 200 and 400. \`refused\`, \`reset\`: the
connection; \`silence\`: no answer within the client's patience (10 s, a probe's 2 s).

Repeat with \`npm run chaos\`.
`;
}
