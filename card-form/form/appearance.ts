import { findAppearanceFault } from '../../src/capture-sessions/appearance.ts';
import type { Json } from '../../src/kernel/json.ts';

/** Applies the appearance of a session and of the page, which wins member by member, through the CSSOM. */

interface Appearance {
  readonly theme?: string;
  readonly layout?: string;
  readonly labels?: string;
  readonly variables?: Readonly<Record<string, string>>;
}

const toProperty = (name: string): string => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** Members that are not allowed are left out: the page cannot put anything else into the form. */
export function mergeAppearance(...given: readonly unknown[]): Appearance {
  let merged: Appearance = {};
  for (const each of given) {
    if (typeof each !== 'object' || each === null || findAppearanceFault(each as Json) !== undefined) continue;
    const { variables, ...more } = each as Appearance;
    merged = { ...merged, ...more, variables: { ...merged.variables, ...variables } };
  }
  return merged;
}

export function applyAppearance({ theme = 'auto', layout, labels, variables = {} }: Appearance): void {
  const root = document.documentElement;
  const prefersDark = window.matchMedia('(prefers-color-scheme: dark)').matches;
  root.classList.toggle('dark', theme === 'dark' || (theme === 'auto' && prefersDark));
  root.classList.toggle('compact', layout === 'compact');
  root.classList.toggle('hidden-labels', labels === 'hidden');
  root.classList.toggle('floating-labels', labels === 'floating');
  for (const property of [...root.style]) if (property.startsWith('--')) root.style.removeProperty(property);
  for (const [name, value] of Object.entries(variables)) root.style.setProperty(toProperty(name), value);
}
