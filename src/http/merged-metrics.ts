import type { Metric, MetricObjectWithValues, MetricValue, Registry } from 'prom-client';

/** A metric with its values, as a registry reports it. */
export type ReportedMetric = MetricObjectWithValues<Value>;

/** The values of a histogram have names of their own. */
type Value = MetricValue<string> & { readonly metricName?: string };

/** The metrics that one thread has reported. */
export interface ThreadMetrics {
  readonly thread: string;
  readonly metrics: readonly ReportedMetric[];
}

/** Metrics of the process, which each thread reports alike. */
const OF_PROCESS = /^cardvault_(process_|nodejs_version_info$)/;
/** Metrics whose sum says nothing. */
const BY_THREAD = /^cardvault_nodejs_eventloop_lag_/;

const MAIN = 'main';

/** Returns the metrics of the process: those of the main thread, with the values of the others added. */
export async function mergeMetrics(
  main: readonly ReportedMetric[],
  threads: readonly ThreadMetrics[],
): Promise<Registry> {
  const merged = new (await import('prom-client')).Registry();
  for (const metric of main) {
    const { name } = metric;
    const others = OF_PROCESS.test(name)
      ? []
      : threads.flatMap(({ thread, metrics }) =>
          metrics.filter((each) => each.name === name).map(({ values }) => ({ thread, values })),
        );
    const all = [{ thread: MAIN, values: metric.values }, ...others];
    const values = BY_THREAD.test(name) ? all.flatMap(labelWithThread) : sum(all.flatMap((each) => each.values));
    merged.registerMetric({ name, get: async () => ({ ...metric, values }) } as unknown as Metric);
  }
  return merged;
}

/** Adds what a thread that has ended has counted to the counts of those before it. */
export function addCounts(counts: readonly ReportedMetric[], metrics: readonly ReportedMetric[]): ReportedMetric[] {
  const counted = metrics.filter(({ type }) => String(type) === 'counter' || String(type) === 'histogram');
  const names = new Set([...counts, ...counted].map(({ name }) => name));
  return [...names].flatMap((name) => {
    const found = [...counts, ...counted].filter((each) => each.name === name);
    const [first] = found;
    return first === undefined ? [] : [{ ...first, values: sum(found.flatMap(({ values }) => values)) }];
  });
}

const labelWithThread = ({ thread, values }: { thread: string; values: readonly Value[] }) =>
  values.map((value) => ({ ...value, labels: { ...value.labels, thread } }));

/** Adds up the values with the same labels. */
function sum(values: readonly Value[]): Value[] {
  const sums = new Map<string, Value>();
  for (const each of values) {
    const { metricName = '', labels } = each;
    const key = metricName + JSON.stringify(labels);
    sums.set(key, { ...each, value: each.value + (sums.get(key)?.value ?? 0) });
  }
  return [...sums.values()];
}
