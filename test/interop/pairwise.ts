import type { ConfiguredSettings } from '../../src/proxy/settings.ts';

/**
 * Returns a half or less of all combinations of some settings, in which any two values of any two settings meet: those
 * whose values have positions, each within its setting, with an even sum.
 */
export function pairwise(combinations: readonly ConfiguredSettings[]): ConfiguredSettings[] {
  const positions = new Map<string, string[]>();
  for (const [name, value] of combinations.flatMap((each) => Object.entries(each))) {
    const values = positions.get(name) ?? [];
    if (!values.includes(value)) values.push(value);
    positions.set(name, values);
  }
  const positionOf = ([name, value]: [string, string]): number => positions.get(name)?.indexOf(value) ?? 0;
  const isChosen = (each: ConfiguredSettings): boolean =>
    Object.entries(each).reduce((sum, setting) => sum + positionOf(setting), 0) % 2 === 0;
  return combinations.filter(isChosen);
}
