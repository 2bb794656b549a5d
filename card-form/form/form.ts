import { toReturnUrl } from '../../src/capture-sessions/session-urls.ts';
import type { Brand } from '../../src/kernel/card-brand.ts';
import type { EntryRules } from '../../src/kernel/card-entry.ts';
import type { Command, Handshake, Report } from '../protocol.ts';
import { applyAppearance, mergeAppearance } from './appearance.ts';
import { Fields } from './fields.ts';
import { cancel, loadSession, type SessionInfo, type SubmitOutcome, submit } from './submission.ts';
import { chooseLocale, type Locale, TEXTS } from './texts.ts';

/**
 * The card form: framed on the merchant's page, or at the top as the hosted page. It talks with the page over one port, which the first
 * valid handshake brings, and answers nothing else.
 */

const [, , , id = ''] = location.pathname.split('/');
const isFramed = window.parent !== window;
const originList = document.querySelector('meta[name="origins"]')?.getAttribute('content') ?? '';
const origins = originList.split(' ').filter((origin) => origin !== '');
const isKnown = document.body.dataset['known'] === 'true';

interface Settings {
  readonly secret: string;
  readonly port: MessagePort | undefined;
  appearance: unknown;
  locale: string | undefined;
}

class CardForm {
  readonly #settings: Settings;
  readonly #session: SessionInfo;
  readonly #form = document.createElement('form');
  readonly #fields: Fields;
  readonly #status = paragraph('error status', '');
  #locale: Locale;
  /** Of a submission without a result: the next one asks with the same attempt. */
  #attempt: string | undefined;
  #isSubmitting = false;
  /** True when the page has emptied the form while a submission is in progress, which may still complete. */
  #isGivenUp = false;
  /** True when the time of the session is over: only a submission that the service has may still complete. */
  #isLate = false;
  /** The question how a session has ended whose time is over. */
  #late: Promise<void> | undefined;
  /** The status with which the session has ended; undefined while it is open. */
  #end: string | undefined;
  /** The last state that the page was sent, because a message for each key would tell how many digits were typed. */
  #reported = '';

  constructor(settings: Settings, session: SessionInfo) {
    this.#settings = settings;
    this.#session = session;
    this.#locale = chooseLocale(settings.locale ?? session.locale, navigator.languages);
    const rules: EntryRules = {
      fields: session.fields ?? { name: 'required', cvv: 'required' },
      acceptedBrands: session.accepted_brands as readonly Brand[] | undefined,
    };
    this.#form.noValidate = true;
    this.#fields = new Fields(this.#form, {
      rules,
      locale: this.#locale,
      onChange: () => this.#reportChange(),
      onFocus: (field) => this.#report({ type: 'focus', field }),
      onBlur: (field) => this.#report({ type: 'blur', field }),
      onEnter: () => {
        if (isFramed) this.#report({ type: 'enter' });
        else void this.#submitHosted();
      },
    });
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#submitHosted();
    });
    this.#show();
  }

  obey(command: Command): void {
    switch (command.type) {
      case 'submit':
        void this.#submitFramed();
        break;
      case 'focus':
        this.#fields.focus();
        break;
      case 'clear':
        this.#clear();
        break;
      case 'update':
        if (command.appearance !== undefined) this.#settings.appearance = command.appearance;
        if (command.locale !== undefined) this.#settings.locale = textOf(command.locale);
        this.#look();
        break;
    }
  }

  #report(report: Report): void {
    this.#settings.port?.postMessage(report);
  }

  #reportChange(): void {
    const { state } = this.#fields;
    const text = JSON.stringify(state);
    if (text === this.#reported) return;
    this.#reported = text;
    this.#report({ type: 'change', state });
  }

  #look(): void {
    const { appearance, locale } = this.#settings;
    const merged = mergeAppearance(this.#session.appearance, appearance);
    applyAppearance(merged);
    this.#locale = chooseLocale(locale ?? this.#session.locale, navigator.languages);
    document.documentElement.lang = this.#locale;
    this.#fields.translate(this.#locale, { hasLabels: merged.labels !== 'hidden' });
  }

  #show(): void {
    const texts = TEXTS[this.#locale];
    const { environment, seconds_left: seconds, account_name: account, description } = this.#session;
    const main = document.createElement('main');
    if (environment === 'sandbox') main.append(paragraph('sandbox', texts.sandbox));
    if (!isFramed) {
      main.className = 'page';
      const title = document.createElement('h1');
      title.textContent = account ?? '';
      document.title = account ?? document.title;
      main.prepend(title, ...(description === undefined ? [] : [paragraph('description', description)]));
      this.#form.append(this.#status, this.#actions());
    }
    main.append(this.#form);
    document.body.append(main);
    this.#look();
    this.#watchHeight();
    this.#emptyWhenLeft();
    window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#look());
    if (seconds !== undefined) setTimeout(() => this.#expire(), seconds * 1000);
    this.#report({ type: 'ready' });
    this.#reportChange();
  }

  #actions(): HTMLElement {
    const texts = TEXTS[this.#locale];
    const actions = document.createElement('div');
    actions.className = 'actions';
    const [go, back] = [document.createElement('button'), document.createElement('button')];
    go.type = 'submit';
    go.textContent = texts.submit;
    back.type = 'button';
    back.className = 'back';
    back.textContent = texts.back;
    back.addEventListener('click', () => void this.#goBack());
    actions.append(go, back);
    return actions;
  }

  #watchHeight(): void {
    const report = (): void => {
      const { height } = document.body.getBoundingClientRect();
      this.#report({ type: 'height', px: Math.ceil(height) });
    };
    new ResizeObserver(report).observe(document.body);
  }

  /** The back/forward cache and restored tabs must not show a card again. */
  #emptyWhenLeft(): void {
    window.addEventListener('pagehide', () => this.#fields.empty());
    window.addEventListener('pageshow', ({ persisted }) => {
      if (persisted) this.#fields.empty();
    });
  }

  /** Empties the form, and gives up an attempt without a response. A submission in progress is awaited, because it may complete. */
  #clear(): void {
    this.#fields.empty();
    if (this.#isSubmitting) this.#isGivenUp = true;
    else if (this.#end === undefined) {
      this.#attempt = undefined;
      if (this.#isLate) void this.#finishLate();
      else this.#fields.lock(false);
    }
  }

  /** The service decides about an attempt that it may have: only with another one the session is known to be over. */
  #expire(): void {
    this.#isLate = true;
    if (this.#attempt === undefined) void this.#finishLate();
    else this.#fields.empty();
  }

  /** Another tab, an attempt that was given up, or the shop may have ended the session before: the service knows. */
  #finishLate(): Promise<void> {
    this.#late ??= this.#end === undefined ? this.#askForEnd() : Promise.resolve();
    return this.#late;
  }

  async #askForEnd(): Promise<void> {
    this.#fields.empty();
    this.#fields.lock(true);
    const session = await loadSession(id, this.#settings.secret);
    const hasEnded = typeof session !== 'string' && session.status !== 'open';
    this.#finish(hasEnded ? session.status : 'expired');
  }

  /** Checks first; undefined when a field is at fault. */
  async #submit(): Promise<SubmitOutcome | undefined> {
    const faults = this.#attempt === undefined ? this.#fields.faults : [];
    if (faults.length > 0) {
      const fields = this.#fields.refuse(faults);
      this.#report({ type: 'refused', code: 'invalid_fields', fields });
      return undefined;
    }
    this.#attempt ??= crypto.randomUUID();
    const { secret } = this.#settings;
    const { entry } = this.#fields;
    this.#fields.lock(true);
    this.#isSubmitting = true;
    const outcome = await submit({ id, secret, entry, attempt: this.#attempt }, () => this.#isGivenUp);
    this.#isSubmitting = false;
    const isGivenUp = this.#isGivenUp;
    this.#isGivenUp = false;
    // Without a response the fields stay locked, and the attempt is asked for again.
    const isUnknown = outcome.kind === 'failed' && outcome.code !== 'session_invalid';
    if (isUnknown && !isGivenUp) return outcome;
    this.#attempt = undefined;
    this.#fields.lock(false);
    if (outcome.kind !== 'refused') this.#fields.empty();
    return outcome;
  }

  async #submitFramed(): Promise<void> {
    if (this.#late !== undefined) await this.#late;
    if (this.#isSubmitting) return;
    if (this.#end !== undefined) return this.#report({ type: 'refused', code: `session_${this.#end}` });
    const outcome = await this.#submit();
    if (outcome === undefined) return;
    if (outcome.kind === 'completed') {
      this.#lockAt('completed');
      this.#report({ type: 'submitted', result: outcome.result, card: outcome.card });
    } else if (outcome.kind === 'refused' && outcome.status === 'open') {
      this.#report({ type: 'refused', code: 'invalid_fields', fields: this.#fields.refuse(outcome.errors) });
    } else if (outcome.kind === 'failed') this.#report({ type: 'refused', code: outcome.code });
    else {
      this.#report({ type: 'refused', code: `session_${outcome.status}` });
      this.#finish(outcome.status);
    }
    if (this.#isLate && this.#attempt === undefined) await this.#finishLate();
  }

  async #submitHosted(): Promise<void> {
    if (this.#late !== undefined) await this.#late;
    if (this.#isSubmitting || this.#end !== undefined) return;
    const button = this.#form.querySelector<HTMLButtonElement>('button[type="submit"]');
    const texts = TEXTS[this.#locale];
    if (button !== null) [button.disabled, button.textContent] = [true, texts.submitting];
    const outcome = await this.#submit();
    if (button !== null) [button.disabled, button.textContent] = [false, texts.submit];
    this.#status.textContent = '';
    if (outcome === undefined) return;
    if (outcome.kind === 'completed') this.#leave('completed');
    else if (outcome.kind === 'refused' && outcome.status === 'open') this.#fields.refuse(outcome.errors);
    else if (outcome.kind !== 'failed') this.#finish(outcome.status);
    else if (outcome.code === 'session_invalid') showText(this.#locale, texts.unknown);
    else {
      this.#status.textContent = texts.unreachable;
      if (button !== null) button.textContent = texts.again;
    }
    if (this.#isLate && this.#attempt === undefined) await this.#finishLate();
  }

  /** Cancels the session. A submission may have completed it in the meantime, and the shop gets to know that. */
  async #goBack(): Promise<void> {
    const status = await cancel(id, this.#settings.secret);
    if (status === undefined) this.#status.textContent = TEXTS[this.#locale].unreachable;
    else this.#leave(status);
  }

  /** Empties the form when the session has ended; the hosted page says so, and goes back. */
  #finish(status: string): void {
    if (this.#end !== undefined) return;
    this.#lockAt(status);
    if (isFramed) this.#report({ type: 'error', code: `session_${status}` });
    else showEnd(this.#locale, status, this.#session.return_url);
  }

  #lockAt(status: string): void {
    this.#end = status;
    this.#fields.empty();
    this.#fields.lock(true);
  }

  #leave(status: string): void {
    this.#lockAt(status);
    leave(this.#session.return_url, status);
  }
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

function paragraph(className: string, text: string): HTMLParagraphElement {
  const made = document.createElement('p');
  made.className = className;
  made.textContent = text;
  if (className.includes('status')) made.setAttribute('role', 'status');
  return made;
}

/** Back does not come to this page again. */
function leave(returnUrl: string | undefined, status: string): void {
  if (returnUrl !== undefined) location.replace(toReturnUrl(returnUrl, id, status));
}

/** Replaces the page by a text, with an action below it. */
function showText(locale: Locale, text: string, action?: HTMLElement): void {
  const [main, heading] = [document.createElement('main'), document.createElement('h1')];
  main.className = 'page';
  heading.textContent = text;
  heading.tabIndex = -1;
  main.append(heading, ...(action === undefined ? [] : [action]));
  document.documentElement.lang = locale;
  document.body.replaceChildren(main);
  // Screen readers say where the focus goes, which the replaced field had. A frame must not take it from the page of the shop.
  if (!isFramed) heading.focus();
}

/** `expired` and `failed` say so first; other ends go back at once. */
function showEnd(locale: Locale, status: string, returnUrl: string | undefined): void {
  const texts = TEXTS[locale];
  if (returnUrl !== undefined && status !== 'expired' && status !== 'failed') {
    leave(returnUrl, status);
    return;
  }
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = texts.goOn;
  button.addEventListener('click', () => leave(returnUrl, status));
  showText(locale, texts.ended[status] ?? texts.unknown, returnUrl === undefined ? undefined : button);
}

async function open(settings: Settings): Promise<void> {
  const { port } = settings;
  const session = await loadSession(id, settings.secret);
  const locale = chooseLocale(settings.locale, navigator.languages);
  const texts = TEXTS[locale];
  if (typeof session === 'string') {
    port?.postMessage({ type: 'error', code: session } satisfies Report);
    if (!isFramed) showText(locale, session === 'session_invalid' ? texts.unknown : texts.unreachable);
  } else if (!isFramed && session.return_url === undefined)
    // The hosted page exists only for sessions with a way back.
    showText(locale, texts.unknown);
  else if (session.status !== 'open') {
    port?.postMessage({ type: 'error', code: `session_${session.status}` } satisfies Report);
    if (!isFramed) showEnd(locale, session.status, session.return_url);
  } else {
    const form = new CardForm(settings, session);
    if (port !== undefined) port.onmessage = ({ data }: MessageEvent<Command>) => form.obey(data ?? {});
  }
}

function isHandshake(data: unknown): data is Handshake {
  const { cardvault, secret } = (typeof data === 'object' && data !== null ? data : {}) as Partial<Handshake>;
  return cardvault === 1 && typeof secret === 'string';
}

/** The first message of the parent, from one of the session's origins, with one port; then nothing is listened to. */
function awaitHandshake(): void {
  const receive = ({ source, origin, ports, data }: MessageEvent): void => {
    const [port] = ports;
    if (source !== window.parent || !origins.includes(origin) || port === undefined || ports.length !== 1) return;
    if (!isHandshake(data)) return;
    window.removeEventListener('message', receive);
    const { secret, appearance, locale } = data;
    void open({ secret, port, appearance, locale: textOf(locale) });
  };
  window.addEventListener('message', receive);
}

if (!isKnown) {
  const locale = chooseLocale(undefined, navigator.languages);
  showText(locale, TEXTS[locale].unknown);
} else if (isFramed) awaitHandshake();
else void open({ secret: location.hash.slice(1), port: undefined, appearance: undefined, locale: undefined });
