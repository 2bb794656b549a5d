import { type Appearance, keepAllowed } from '../../src/capture-sessions/appearance.ts';

/** How the form looks: choices become classes, and variables become custom properties of the style sheet. */

const toProperty = (name: string): string => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** Names that style sheets define; every other name of a font is quoted, because it may begin with a digit. */
const GENERIC_FONT = /^(?:ui-)?(?:serif|sans-serif|monospace|rounded)$|^(?:system-ui|cursive|fantasy|math)$/i;

const quoteFonts = (names: string): string =>
  names
    .split(',')
    .map((name) => name.trim())
    .map((name) => (GENERIC_FONT.test(name) ? name : `"${name}"`))
    .join(', ');

/** Later ones win, member by member. Members that are not allowed are left out: the page cannot put anything else into the form. */
export function mergeAppearance(...given: readonly unknown[]): Appearance {
  let merged: Appearance = {};
  for (const each of given) {
    const { variables, ...choices } = keepAllowed(each);
    merged = { ...merged, ...choices, variables: { ...merged.variables, ...variables } };
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
  for (const [name, value = ''] of Object.entries(variables))
    root.style.setProperty(toProperty(name), name === 'fontFamily' ? quoteFonts(value) : value);
}
