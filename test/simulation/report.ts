import type { Report } from './simulation.ts';

const ID = /\b[a-z]{25}\b/g;

/** The faults, and of the trace what has to do with the first payment, or request, that is named in them. */
export function traceOf({ faults, trace }: Report): string {
  const names = new Set(faults[0]?.match(ID) ?? [faults[0]?.split(' ')[0] ?? '']);
  // Operations of the payment have ids of their own, and so have the requests that made them.
  for (let size = 0; size < names.size; ) {
    size = names.size;
    const [payment] = names;
    for (const line of trace) {
      const [, reference] = /client: (r[0-9]+\.)/.exec(line) ?? [];
      if (reference !== undefined && (line.includes(payment ?? '') || names.has(reference))) {
        names.add(reference);
        for (const id of line.match(ID) ?? []) names.add(id);
      }
    }
  }
  const everywhere = /crashes|time jumps|calm$|acquirer: \{/;
  const lines = trace.filter((line) => everywhere.test(line) || [...names].some((name) => line.includes(name)));
  return [...faults, '', ...lines].join('\n');
}
