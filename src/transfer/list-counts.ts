/** Returns counts as the audit log holds them, `name=number`. */
export const listCounts = (counts: Readonly<Record<string, number>>): readonly string[] =>
  Object.entries(counts).map(([name, count]) => `${name}=${count}`);
