/** Messages between the merchant's page and the form (browser.md 4). A script works with the form of the release before it and of all later ones. */

export type FieldName = 'number' | 'exp' | 'name' | 'cvv';

export interface FieldState {
  readonly empty: boolean;
  readonly complete: boolean;
  readonly error?: string;
}

export interface ChangeState {
  readonly complete: boolean;
  readonly brand: string;
  readonly fields: Readonly<Partial<Record<FieldName, FieldState>>>;
}

export interface Refusal {
  readonly field: FieldName;
  readonly code: string;
  readonly message: string;
}

export type Result =
  | { readonly capture: { readonly id: string } }
  | { readonly token: { readonly token: string; readonly scheme: number } };

export interface Card {
  readonly brand: string;
  readonly card: string;
  readonly exp: string;
}

/** Posted once at each load of the frame, with one port. */
export interface Handshake {
  readonly cardvault: 1;
  readonly secret: string;
  readonly appearance?: unknown;
  readonly locale?: string | undefined;
}

/** From the page to the form. */
export type Command =
  | { readonly type: 'submit' }
  | { readonly type: 'focus' }
  | { readonly type: 'clear' }
  | { readonly type: 'update'; readonly appearance?: unknown; readonly locale?: string | undefined };

/** From the form to the page: states and codes, no digit but those of `card` and of the token. */
export type Report =
  | { readonly type: 'ready' }
  | { readonly type: 'height'; readonly px: number }
  | { readonly type: 'change'; readonly state: ChangeState }
  | { readonly type: 'focus' | 'blur'; readonly field: FieldName }
  | { readonly type: 'enter' }
  | { readonly type: 'error'; readonly code: string }
  | { readonly type: 'submitted'; readonly result: Result; readonly card: Card }
  | { readonly type: 'refused'; readonly code: string; readonly fields?: readonly Refusal[] };
