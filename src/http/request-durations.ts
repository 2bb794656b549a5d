/** Upper bounds of the buckets, in seconds. */
const DURATION_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

const NAME = 'cardvault_http_request_duration_seconds';

interface RequestLabels {
  readonly listener: string;
  readonly method: string;
  readonly route: string;
  readonly status: number;
}

/** One series: requests with the same labels. */
interface Series {
  readonly labels: RequestLabels;
  /** Counts by bucket, with the excess last; not cumulative. */
  readonly counts: number[];
  sum: number;
}

/**
 * The histogram of request durations. Every request is observed, and the histogram of the library hashes its labels
 * each time; this one compares the labels of the few series of a route, and builds the cumulative form when it is read.
 */
export class RequestDurations {
  readonly name = NAME;
  /** Series by route; the few of one route are found by comparing their labels. */
  readonly #series = new Map<string, Series[]>();

  observe(labels: RequestLabels, seconds: number): void {
    const series = this.#find(labels);
    let bucket = 0;
    while (bucket < DURATION_BUCKETS_SECONDS.length && seconds > (DURATION_BUCKETS_SECONDS[bucket] ?? 0)) bucket++;
    series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
    series.sum += seconds;
  }

  /** Called by the registry. */
  async get() {
    const values = [...this.#series.values()].flatMap((ofRoute) => ofRoute.flatMap(toValues));
    return { name: NAME, help: 'Duration of requests by route pattern and status', type: 'histogram', values };
  }

  /** Called by the registry. */
  reset(): void {
    this.#series.clear();
  }

  #find(labels: RequestLabels): Series {
    const { listener, method, route, status } = labels;
    let ofRoute = this.#series.get(route);
    if (ofRoute === undefined) {
      ofRoute = [];
      this.#series.set(route, ofRoute);
    }
    for (const series of ofRoute) {
      const { labels: known } = series;
      if (known.status === status && known.method === method && known.listener === listener) return series;
    }
    const fresh = { labels, counts: new Array<number>(DURATION_BUCKETS_SECONDS.length + 1).fill(0), sum: 0 };
    ofRoute.push(fresh);
    return fresh;
  }
}

function toValues({ labels: { listener, method, route, status }, counts, sum }: Series) {
  const labels = { listener, method, route, status: String(status) };
  let total = 0;
  const buckets = [...DURATION_BUCKETS_SECONDS, '+Inf'].map((bound, index) => {
    total += counts[index] ?? 0;
    return { metricName: `${NAME}_bucket`, labels: { le: bound, ...labels }, value: total };
  });
  return [
    ...buckets,
    { metricName: `${NAME}_sum`, labels, value: sum },
    { metricName: `${NAME}_count`, labels, value: total },
  ];
}
