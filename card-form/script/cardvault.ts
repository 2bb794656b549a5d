import { type Appearance, findAppearanceFault } from '../../src/capture-sessions/appearance.ts';
import type { Card, ChangeState, Command, FieldName, Handshake, Refusal, Report, Result } from '../protocol.ts';

/**
 * The script of the merchant's page (browser.md 4). It makes a frame with the form of the vault, and talks with it over a port that it
 * gives to that origin alone. No card number, code or name ever reaches this page.
 */

export interface MountOptions {
  /** Id of the session. */
  readonly session: string;
  readonly clientSecret: string;
  /** Origin of the listener; absent: that of this script. */
  readonly origin?: string | undefined;
  readonly appearance?: Appearance | undefined;
  /** `en`, `es` or `pt`, also with a region; any other is that of the browser. */
  readonly locale?: string | undefined;
}

export type { Appearance } from '../../src/capture-sessions/appearance.ts';
export type { Card, ChangeState, FieldName, FieldState, Refusal, Result } from '../protocol.ts';

export interface Events {
  ready: undefined;
  change: ChangeState;
  focus: { readonly field: FieldName };
  blur: { readonly field: FieldName };
  enter: undefined;
  error: { readonly code: string };
}

export type Listener<Name extends keyof Events> = (event: Events[Name]) => void;

export interface SubmitResult {
  readonly result: Result;
  readonly card: Card;
}

/** Why a submission has no result. `fields`: with `invalid_fields`. */
export class CardVaultError extends Error {
  override readonly name = 'CardVaultError';
  readonly code: string;
  readonly fields: readonly Refusal[] | undefined;

  constructor(code: string, fields?: readonly Refusal[]) {
    super(`cardvault: ${code}`);
    this.code = code;
    this.fields = fields;
  }
}

/** Without the form by then, it is blocked, down, or of another origin. */
const READY_MS = 15_000;
const OPTIONS = ['session', 'clientSecret', 'origin', 'appearance', 'locale'];

/** The script's own origin; a module gets it as an option, and may also be loaded by a server. */
const script = typeof document === 'undefined' ? null : (document.currentScript as HTMLScriptElement | null);
const ownOrigin = script?.src ? new URL(script.src).origin : undefined;

export class CardForm {
  readonly #frame: HTMLIFrameElement;
  readonly #origin: string;
  #handshake: Handshake;
  readonly #listeners = new Map<keyof Events, Set<(event: never) => void>>();
  #port: MessagePort | undefined;
  #isReady = false;
  #isDestroyed = false;
  /** Why there is no form, until it is ready. */
  #failure: string | undefined;
  /** Fails the form when its document does not connect in time; begins again with each document in the frame. */
  #readyTimer: number | undefined;
  #submission: Pending | undefined;

  constructor(place: Element, options: MountOptions) {
    this.#origin = options.origin ?? ownOrigin ?? '';
    const { clientSecret: secret, appearance, locale } = options;
    this.#handshake = { cardvault: 1, secret, appearance, locale };
    const frame = document.createElement('iframe');
    frame.src = `${this.#origin}/v1/card/${options.session}`;
    frame.title = 'Card';
    frame.allow = 'autofill';
    frame.setAttribute('sandbox', 'allow-scripts allow-same-origin allow-forms');
    for (const [name, value] of Object.entries({ border: '0', width: '100%', height: '0', display: 'block' }))
      frame.style.setProperty(name, value);
    // A frame that was moved or reloaded starts empty, with a new handshake.
    frame.addEventListener('load', () => this.#connect());
    this.#frame = frame;
    this.#awaitReady();
    place.append(frame);
  }

  on<Name extends keyof Events>(name: Name, listener: Listener<Name>): this {
    const known = this.#listeners.get(name) ?? new Set();
    known.add(listener as (event: never) => void);
    this.#listeners.set(name, known);
    return this;
  }

  /** One submission, however often it is called at once. Rejects with `CardVaultError`. */
  submit(): Promise<SubmitResult> {
    const failure = this.#isDestroyed ? 'destroyed' : this.#failure;
    if (failure !== undefined) return Promise.reject(new CardVaultError(failure));
    if (this.#submission !== undefined) return this.#submission.promise;
    const submission = newPending();
    this.#submission = submission;
    if (this.#isReady) this.#sendSubmission(submission);
    return submission.promise;
  }

  focus(): void {
    this.#send({ type: 'focus' });
  }

  clear(): void {
    this.#send({ type: 'clear' });
  }

  /** Throws a `TypeError` for a bad option. A form that loads again keeps what was updated. */
  update({ appearance, locale }: Pick<MountOptions, 'appearance' | 'locale'>): void {
    assertLooks(appearance, locale);
    this.#handshake = {
      ...this.#handshake,
      ...(appearance !== undefined && { appearance }),
      ...(locale !== undefined && { locale }),
    };
    this.#send({ type: 'update', appearance, locale });
  }

  /** Removes the form. A submission under way may still complete. */
  destroy(): void {
    this.#isDestroyed = true;
    window.clearTimeout(this.#readyTimer);
    this.#port?.close();
    this.#frame.remove();
    this.#settle((submission) => submission.reject(new CardVaultError('destroyed')));
  }

  #awaitReady(): void {
    window.clearTimeout(this.#readyTimer);
    this.#readyTimer = window.setTimeout(() => this.#fail('unavailable'), READY_MS);
  }

  #connect(): void {
    if (this.#isDestroyed) return;
    this.#port?.close();
    this.#isReady = false;
    // The document that had the submission is gone: whether the card was received, the new one does not know.
    if (this.#submission?.isSent === true)
      this.#settle((submission) => submission.reject(new CardVaultError('network')));
    this.#awaitReady();
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data }: MessageEvent<Report>) => this.#receive(data);
    this.#port = port1;
    // Another origin in the frame gets nothing.
    this.#frame.contentWindow?.postMessage(this.#handshake, this.#origin, [port2]);
  }

  #sendSubmission(submission: Pending): void {
    submission.isSent = true;
    this.#send({ type: 'submit' });
  }

  #send(command: Command): void {
    this.#port?.postMessage(command);
  }

  #receive(report: Report): void {
    switch (report.type) {
      case 'ready':
        window.clearTimeout(this.#readyTimer);
        this.#isReady = true;
        this.#failure = undefined;
        if (this.#submission !== undefined) this.#sendSubmission(this.#submission);
        this.#emit('ready', undefined);
        break;
      case 'height':
        this.#frame.style.setProperty('height', `${report.px}px`);
        break;
      case 'change':
        this.#emit('change', report.state);
        break;
      case 'focus':
      case 'blur':
        this.#emit(report.type, { field: report.field });
        break;
      case 'enter':
        this.#emit('enter', undefined);
        break;
      case 'error':
        this.#fail(report.code);
        break;
      case 'submitted':
        this.#settle((submission) => submission.resolve({ result: report.result, card: report.card }));
        break;
      case 'refused':
        this.#settle((submission) => submission.reject(new CardVaultError(report.code, report.fields)));
        break;
    }
  }

  #fail(code: string): void {
    window.clearTimeout(this.#readyTimer);
    if (!this.#isReady) this.#failure = code;
    this.#settle((submission) => submission.reject(new CardVaultError(code)));
    this.#emit('error', { code });
  }

  #settle(act: (submission: Pending) => void): void {
    const submission = this.#submission;
    this.#submission = undefined;
    if (submission !== undefined) act(submission);
  }

  #emit<Name extends keyof Events>(name: Name, event: Events[Name]): void {
    for (const listener of this.#listeners.get(name) ?? []) (listener as Listener<Name>)(event);
  }
}

/** A submission without a result yet. */
interface Pending {
  readonly promise: Promise<SubmitResult>;
  /** True when a document of the form has it. */
  isSent: boolean;
  resolve(result: SubmitResult): void;
  reject(error: Error): void;
}

/** As `Promise.withResolvers`, which browsers have since 2024. */
function newPending(): Pending {
  let resolve: Pending['resolve'] = () => undefined;
  let reject: Pending['reject'] = () => undefined;
  const promise = new Promise<SubmitResult>((accept, refuse) => {
    resolve = accept;
    reject = refuse;
  });
  return { promise, isSent: false, resolve, reject };
}

function assertLooks(appearance: unknown, locale: unknown): void {
  const fault = appearance === undefined ? undefined : findAppearanceFault(appearance);
  if (fault !== undefined) throw new TypeError(`cardvault: ${fault}`);
  if (locale !== undefined && typeof locale !== 'string') throw new TypeError('cardvault: locale');
}

/** Puts the form into an element. Throws a `TypeError` for a bad option. */
export function mount(place: string | Element, options: MountOptions): CardForm {
  const element = typeof place === 'string' ? document.querySelector(place) : place;
  if (!(element instanceof Element)) throw new TypeError('cardvault: the element does not exist');
  for (const name of Object.keys(options))
    if (!OPTIONS.includes(name)) throw new TypeError(`cardvault: unknown option ${name}`);
  const { session, clientSecret, origin = ownOrigin, appearance, locale } = options;
  if (typeof session !== 'string' || !/^cs_[0-9a-z]{24,}$/.test(session)) throw new TypeError('cardvault: session');
  if (typeof clientSecret !== 'string' || !/^[A-Za-z0-9_-]{43}$/.test(clientSecret))
    throw new TypeError('cardvault: clientSecret');
  if (typeof origin !== 'string' || !/^https:\/\/[a-z0-9.-]+(?::[0-9]{1,5})?$/.test(origin))
    throw new TypeError('cardvault: origin');
  assertLooks(appearance, locale);
  return new CardForm(element, { ...options, origin });
}
