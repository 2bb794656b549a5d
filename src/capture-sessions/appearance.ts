import { isJsonObject, type Json } from '../kernel/json.ts';

/** How the card form looks (browser.md 4). Pure. */

const FONT_NAME = '[A-Za-z0-9 -]{1,64}';
const COLOR = /^#(?:[0-9a-f]{3}|[0-9a-f]{6}|[0-9a-f]{8})$/i;

const pixels =
  (min: number, max: number) =>
  (value: string): boolean => {
    const [, number] = /^([0-9]{1,2})px$/.exec(value) ?? [];
    return number !== undefined && Number(number) >= min && Number(number) <= max;
  };
const isColor = (value: string): boolean => COLOR.test(value);

/** Each variable with the check of its value. */
const VARIABLES: Readonly<Record<string, (value: string) => boolean>> = {
  fontFamily: (value) => new RegExp(`^${FONT_NAME}(?:,${FONT_NAME}){0,4}$`).test(value),
  fontSize: pixels(12, 24),
  colorText: isColor,
  colorBackground: isColor,
  colorPrimary: isColor,
  colorDanger: isColor,
  colorPlaceholder: isColor,
  colorBorder: isColor,
  borderRadius: pixels(0, 24),
  spacing: pixels(0, 24),
};

const CHOICES: Readonly<Record<string, readonly string[]>> = {
  theme: ['light', 'dark', 'auto'],
  layout: ['stacked', 'compact'],
  labels: ['above', 'floating', 'hidden'],
};

export interface Appearance {
  readonly theme?: string;
  readonly layout?: string;
  readonly labels?: string;
  readonly variables?: Readonly<Record<string, string>>;
}

/** Returns the path of the first member that is not allowed; undefined when all are. */
export function findAppearanceFault(value: Json): string | undefined {
  if (!isJsonObject(value)) return 'appearance';
  for (const [name, member] of Object.entries(value)) {
    if (name === 'variables') {
      const fault = findVariableFault(member);
      if (fault !== undefined) return fault;
    } else if (!Object.hasOwn(CHOICES, name)) return 'appearance.*';
    else if (typeof member !== 'string' || CHOICES[name]?.includes(member) !== true) return `appearance.${name}`;
  }
  return undefined;
}

function findVariableFault(value: Json): string | undefined {
  if (!isJsonObject(value)) return 'appearance.variables';
  for (const [name, member] of Object.entries(value)) {
    if (!Object.hasOwn(VARIABLES, name)) return 'appearance.variables.*';
    if (typeof member !== 'string' || VARIABLES[name]?.(member) !== true) return `appearance.variables.${name}`;
  }
  return undefined;
}
