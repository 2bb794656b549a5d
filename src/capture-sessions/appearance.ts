/** How the card form looks (browser.md 4). Pure, and without imports: the form and the script in the browser use it too. */

const CHOICES = {
  theme: ['light', 'dark', 'auto'],
  layout: ['stacked', 'compact'],
  labels: ['above', 'floating', 'hidden'],
} as const;

const FONT_NAME = '[A-Za-z0-9 -]{1,64}';
const FONT_NAMES = new RegExp(`^${FONT_NAME}(?:,${FONT_NAME}){0,4}$`);
const COLOR = /^#(?:[0-9a-f]{3}|[0-9a-f]{6}|[0-9a-f]{8})$/i;

const pixels =
  (min: number, max: number) =>
  (value: string): boolean => {
    const [, number] = /^([0-9]{1,2})px$/.exec(value) ?? [];
    return number !== undefined && Number(number) >= min && Number(number) <= max;
  };
const isColor = (value: string): boolean => COLOR.test(value);

/** Each variable with the check of its value. */
const VARIABLES = {
  /** 1 to 5 names, separated by commas; no font is loaded. */
  fontFamily: (value: string): boolean => FONT_NAMES.test(value),
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

export type VariableName = keyof typeof VARIABLES;

/** Colors are `#rgb`, `#rrggbb` or `#rrggbbaa`, sizes such as `16px`. */
export type Appearance = {
  readonly [Name in keyof typeof CHOICES]?: (typeof CHOICES)[Name][number] | undefined;
} & {
  readonly variables?: { readonly [Name in VariableName]?: string | undefined } | undefined;
};

/** Returns true also for a number that the parser of the service has preserved as written; its members are at fault then. */
const isObject = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Pages may give a member as undefined. */
const membersOf = (value: object): [string, unknown][] =>
  Object.entries(value).filter(([, member]) => member !== undefined);

const isChoiceName = (name: string): name is keyof typeof CHOICES => Object.hasOwn(CHOICES, name);
const isVariableName = (name: string): name is VariableName => Object.hasOwn(VARIABLES, name);

const isChoice = (name: string, value: unknown): boolean =>
  isChoiceName(name) && (CHOICES[name] as readonly unknown[]).includes(value);

const isVariable = (name: string, value: unknown): boolean =>
  isVariableName(name) && typeof value === 'string' && VARIABLES[name](value);

/** Returns the path of the first member that is not allowed; undefined when all are. */
export function findAppearanceFault(value: unknown): string | undefined {
  if (!isObject(value)) return 'appearance';
  for (const [name, member] of membersOf(value)) {
    if (name === 'variables') {
      const fault = findVariableFault(member);
      if (fault !== undefined) return fault;
    } else if (!isChoice(name, member)) return `appearance.${isChoiceName(name) ? name : '*'}`;
  }
  return undefined;
}

function findVariableFault(value: unknown): string | undefined {
  if (!isObject(value)) return 'appearance.variables';
  for (const [name, member] of membersOf(value))
    if (!isVariable(name, member)) return `appearance.variables.${isVariableName(name) ? name : '*'}`;
  return undefined;
}

/** Returns the members that are allowed, for an appearance of which a later release may have more. */
export function keepAllowed(value: unknown): Appearance {
  if (!isObject(value)) return {};
  const keep = (members: object, isAllowed: (name: string, value: unknown) => boolean): object =>
    Object.fromEntries(Object.entries(members).filter(([name, member]) => isAllowed(name, member)));
  const { variables, ...choices } = value;
  return {
    ...keep(choices, isChoice),
    ...(isObject(variables) && { variables: keep(variables, isVariable) }),
  };
}
