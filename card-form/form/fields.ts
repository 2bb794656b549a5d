import { brandOf } from '../../src/kernel/card-brand.ts';
import {
  checkEntry,
  type Entry,
  type EntryRules,
  type FieldCode,
  type FieldName,
  type Presence,
} from '../../src/kernel/card-entry.ts';
import type { ChangeState, FieldState, Refusal } from '../protocol.ts';
import { type Locale, TEXTS } from './texts.ts';
import { caretAfter, digitsOf, formatNumber, formatTypedExpiry, normalizeExpiry, toAsciiDigits } from './typing.ts';

/** The fields of the form, with what is shown beside them. */

const AUTOCOMPLETE: Readonly<Record<FieldName, string>> = {
  number: 'cc-number',
  exp: 'cc-exp',
  name: 'cc-name',
  cvv: 'cc-csc',
};
const NAMES: Readonly<Record<FieldName, string>> = {
  number: 'cardnumber',
  exp: 'exp-date',
  name: 'ccname',
  cvv: 'cvc',
};
/** Expiry and code are short: a compact form has them in one row. */
const ORDER: readonly FieldName[] = ['number', 'exp', 'cvv', 'name'];
const EXPIRY_FORMAT = 'MM/YY';
const BRAND_NAMES: Readonly<Record<string, string>> = {
  visa: 'Visa',
  mastercard: 'Mastercard',
  amex: 'Amex',
  diners: 'Diners',
  discover: 'Discover',
  jcb: 'JCB',
  unionpay: 'UnionPay',
  maestro: 'Maestro',
  elo: 'Elo',
  hipercard: 'Hipercard',
};

interface Part {
  readonly root: HTMLElement;
  readonly label: HTMLLabelElement;
  readonly input: HTMLInputElement;
  readonly error: HTMLElement;
}

export interface FieldsOptions {
  readonly rules: EntryRules;
  readonly locale: Locale;
  onChange(): void;
  onFocus(field: FieldName): void;
  onBlur(field: FieldName): void;
  /** The buyer has pressed Enter in a field. */
  onEnter(): void;
}

function element<Name extends keyof HTMLElementTagNameMap>(name: Name, className = ''): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  if (className !== '') made.className = className;
  return made;
}

export class Fields {
  readonly #options: FieldsOptions;
  readonly #parts = new Map<FieldName, Part>();
  readonly #brand = element('span', 'brand');
  /** Fields that were left, or refused: their faults are shown. */
  readonly #shown = new Map<FieldName, FieldCode | undefined>();
  #locale: Locale;

  constructor(form: HTMLFormElement, options: FieldsOptions) {
    this.#options = options;
    this.#locale = options.locale;
    this.#brand.setAttribute('aria-hidden', 'true');
    for (const field of ORDER) if (this.#presence(field) !== 'hidden') form.append(this.#add(field));
    this.translate(options.locale, { hasLabels: true });
  }

  get entry(): Entry {
    const textOf = (field: FieldName): string => this.#parts.get(field)?.input.value ?? '';
    return {
      number: digitsOf(textOf('number')),
      exp: normalizeExpiry(textOf('exp')),
      name: textOf('name').trim(),
      cvv: toAsciiDigits(textOf('cvv')).trim(),
    };
  }

  get state(): ChangeState {
    const errors = this.faults;
    const { number } = this.entry;
    const states = [...this.#parts].map(([field, { input }]): [FieldName, FieldState] => {
      const code = errors.find((each) => each.field === field)?.code;
      const isShown = this.#shown.has(field) && code !== undefined;
      const isEmpty = input.value === '';
      return [field, { empty: isEmpty, complete: code === undefined && !isEmpty, ...(isShown && { error: code }) }];
    });
    const fields = Object.fromEntries(states) as ChangeState['fields'];
    return { complete: errors.length === 0, brand: brandOf(number).brand, fields };
  }

  get faults() {
    const now = new Date();
    const present = { year: now.getUTCFullYear(), month: now.getUTCMonth() + 1 };
    return checkEntry(this.entry, this.#options.rules, present);
  }

  /** Shows faults, and focuses the first of them. */
  refuse(faults: readonly { readonly field: FieldName; readonly code: FieldCode }[]): Refusal[] {
    for (const { field, code } of faults) this.#shown.set(field, code);
    this.#render();
    this.#focusFirst(faults);
    return faults.map(({ field, code }) => ({ field, code, message: this.#textOf(field, code) }));
  }

  focus(): void {
    const { faults } = this;
    this.#focusFirst(faults.length > 0 ? faults : [{ field: 'number' }]);
  }

  #focusFirst(faults: readonly { readonly field: FieldName }[]): void {
    const first = ORDER.find((field) => faults.some((fault) => fault.field === field));
    if (first !== undefined) this.#parts.get(first)?.input.focus();
  }

  empty(): void {
    for (const { input } of this.#parts.values()) input.value = '';
    this.#shown.clear();
    this.#render();
    this.#options.onChange();
  }

  lock(isLocked: boolean): void {
    for (const { input } of this.#parts.values()) input.disabled = isLocked;
  }

  /** Labels that are hidden are shown inside of empty fields. */
  translate(locale: Locale, { hasLabels }: { readonly hasLabels: boolean }): void {
    this.#locale = locale;
    const { labels, optional } = TEXTS[locale];
    for (const [field, { label, input }] of this.#parts) {
      const more = this.#presence(field) === 'optional' ? ` (${optional})` : '';
      const text = `${labels[field]}${more}`;
      label.textContent = text;
      if (field !== 'exp') input.placeholder = hasLabels ? '' : text;
      else input.placeholder = hasLabels ? EXPIRY_FORMAT : `${text} (${EXPIRY_FORMAT})`;
    }
    this.#render();
  }

  #presence(field: FieldName): Presence {
    const { fields } = this.#options.rules;
    return field === 'name' || field === 'cvv' ? fields[field] : 'required';
  }

  #add(field: FieldName): HTMLElement {
    const [root, label, box] = [element('div', `field ${field}`), element('label'), element('div', 'box')];
    const input = element('input');
    const error = element('p', 'error');
    input.id = field;
    input.name = NAMES[field];
    input.autocomplete = AUTOCOMPLETE[field] as AutoFill;
    input.type = 'text';
    input.spellcheck = false;
    input.required = this.#presence(field) === 'required';
    if (field !== 'name') input.inputMode = 'numeric';
    if (field === 'cvv') input.maxLength = 4;
    error.id = `${field}-error`;
    error.setAttribute('aria-live', 'polite');
    label.htmlFor = field;
    input.setAttribute('aria-describedby', error.id);
    input.addEventListener('input', (event) => this.#onInput(field, input, event as InputEvent));
    input.addEventListener('focus', () => this.#options.onFocus(field));
    input.addEventListener('blur', () => this.#onBlur(field, input));
    // Browsers submit a form of several fields by Enter only when it has a button, which the framed one has not.
    input.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || endsComposition(event)) return;
      event.preventDefault();
      this.#options.onEnter();
    });
    box.append(input, ...(field === 'number' ? [this.#brand] : []));
    root.append(label, box, error);
    this.#parts.set(field, { root, label, input, error });
    return root;
  }

  #onInput(field: FieldName, input: HTMLInputElement, { inputType }: InputEvent): void {
    if (field === 'number') groupDigits(input);
    if (field === 'exp') {
      const isTyped = inputType === 'insertText' || inputType?.startsWith('delete') === true;
      input.value = isTyped
        ? formatTypedExpiry(input.value, inputType.startsWith('delete'))
        : normalizeExpiry(input.value);
    }
    // A fault that was shown is judged again while it is mended.
    if (this.#shown.has(field)) this.#shown.set(field, undefined);
    this.#render();
    this.#options.onChange();
  }

  #onBlur(field: FieldName, input: HTMLInputElement): void {
    if (field === 'exp') input.value = normalizeExpiry(input.value);
    // Passing through an empty field is no fault yet.
    if (input.value !== '') this.#shown.set(field, undefined);
    this.#render();
    this.#options.onBlur(field);
    this.#options.onChange();
  }

  #render(): void {
    const faults = this.faults;
    const { brand } = brandOf(this.entry.number);
    this.#brand.textContent = BRAND_NAMES[brand] ?? '';
    for (const [field, { input, error }] of this.#parts) {
      const refused = this.#shown.get(field);
      const code = refused ?? faults.find((each) => each.field === field)?.code;
      const isShown = this.#shown.has(field) && code !== undefined;
      input.setAttribute('aria-invalid', String(isShown));
      error.textContent = isShown ? this.#textOf(field, code) : '';
    }
  }

  #textOf(field: FieldName, code: FieldCode): string {
    const texts = TEXTS[this.#locale].errors[field];
    return texts[code] ?? texts.invalid ?? '';
  }
}

/** Safari ends a composition before the key that ends it, and reports that key by this code alone. */
const COMPOSING_KEY = 229;
const endsComposition = ({ isComposing, keyCode }: KeyboardEvent): boolean => isComposing || keyCode === COMPOSING_KEY;

/** Shows the digits in groups, and leaves the caret behind the digit where it was. */
function groupDigits(input: HTMLInputElement): void {
  const caret = input.selectionStart ?? input.value.length;
  const before = digitsOf(input.value.slice(0, caret)).length;
  const formatted = formatNumber(input.value);
  if (formatted === input.value) return;
  input.value = formatted;
  if (document.activeElement === input) {
    const place = caretAfter(formatted, before);
    input.setSelectionRange(place, place);
  }
}
