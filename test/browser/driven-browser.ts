/**
 * A browser that users have, driven by a protocol of the W3C. Playwright drives builds of its own of Firefox and WebKit, which no package
 * registry has.
 */
export interface DrivenBrowser {
  /** The name and version, as the browser reports them. */
  readonly release: string;
  open(address: string): Promise<void>;
  /** Goes one page back in the history; the page may still load then. */
  back(): Promise<void>;
  /** Evaluates an expression; returns its JSON value. */
  evaluate<Value>(expression: string, where?: Where): Promise<Value>;
  /** Clicks in the middle of an element. */
  click(selector: string, where?: Where): Promise<void>;
  /** Presses keys one after another; Control is held until the last one. */
  press(keys: string, where?: Where): Promise<void>;
  close(): Promise<void>;
}

/** The page, or the first frame of it. */
export type Where = 'page' | 'frame';

/** Keys without a sign, as WebDriver writes them. */
export const TAB = '\ue004';
export const ENTER = '\ue007';
export const CONTROL = '\ue009';

/** Actions are the same in WebDriver and WebDriver BiDi. */
export function toStrokes(keys: string): object[] {
  const strokes = [...keys].flatMap((value) => [
    { type: 'keyDown', value },
    ...(value === CONTROL ? [] : [{ type: 'keyUp', value }]),
  ]);
  const releases = keys.includes(CONTROL) ? [{ type: 'keyUp', value: CONTROL }] : [];
  return [{ type: 'key', id: 'keyboard', actions: [...strokes, ...releases] }];
}

/** An expression of a promise for the JSON text of an expression's value. */
export const toJsonExpression = (expression: string): string =>
  `(async () => JSON.stringify((await (${expression})) ?? null))()`;
