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
const origins = (document.querySelector('meta[name="origins"]')?.getAttribute('content') ?? '').split(' ');
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
  #locale: Locale;
  /** Of a submission without a result: the next one asks with the same attempt. */
  #attempt: string | undefined;
  #isSubmitting = false;
  #hasEnded = false;

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
      onChange: () => this.#report({ type: 'change', state: this.#fields.state }),
      onFocus: (field) => this.#report({ type: 'focus', field }),
      onBlur: (field) => this.#report({ type: 'blur', field }),
    });
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      if (isFramed) this.#report({ type: 'enter' });
      else void this.#submitHosted();
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
        this.#attempt = undefined;
        this.#fields.lock(false);
        this.#fields.empty();
        break;
      case 'update':
        if (command.appearance !== undefined) this.#settings.appearance = command.appearance;
        if (command.locale !== undefined) this.#settings.locale = command.locale;
        this.#look();
        break;
    }
  }

  #report(report: Report): void {
    this.#settings.port?.postMessage(report);
  }

  #look(): void {
    const { appearance, locale } = this.#settings;
    applyAppearance(mergeAppearance(this.#session.appearance, appearance));
    this.#locale = chooseLocale(locale ?? this.#session.locale, navigator.languages);
    document.documentElement.lang = this.#locale;
    this.#fields.translate(this.#locale);
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
    if (seconds !== undefined) setTimeout(() => this.#end('expired'), seconds * 1000);
    this.#report({ type: 'ready' });
    this.#report({ type: 'change', state: this.#fields.state });
  }

  readonly #status = paragraph('error status', '');

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
    back.addEventListener('click', () => {
      void cancel(id, this.#settings.secret).then(() => this.#leave('cancelled'));
    });
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

  /** Checks first; undefined when a field is at fault. */
  async #submit(): Promise<SubmitOutcome | undefined> {
    const faults = this.#attempt === undefined ? this.#fields.faults : [];
    if (faults.length > 0) {
      const fields = this.#fields.refuse(faults);
      this.#report({ type: 'refused', code: 'invalid_fields', fields });
      return undefined;
    }
    this.#attempt ??= crypto.randomUUID();
    const entry = this.#fields.entry;
    this.#fields.lock(true);
    const outcome = await submit(id, this.#settings.secret, entry, this.#attempt);
    // Without a response the fields stay locked, and the attempt is asked for again.
    if (outcome.kind === 'failed' && outcome.code !== 'session_invalid') return outcome;
    this.#attempt = undefined;
    this.#fields.lock(false);
    if (outcome.kind !== 'refused') this.#fields.empty();
    return outcome;
  }

  async #submitFramed(): Promise<void> {
    if (this.#isSubmitting) return;
    if (this.#hasEnded) return this.#report({ type: 'refused', code: 'session_completed' });
    this.#isSubmitting = true;
    const outcome = await this.#submit();
    this.#isSubmitting = false;
    if (outcome === undefined) return;
    if (outcome.kind === 'completed') {
      this.#hasEnded = true;
      this.#fields.lock(true);
      this.#report({ type: 'submitted', result: outcome.result, card: outcome.card });
    } else if (outcome.kind === 'refused') {
      const fields = this.#fields.refuse(outcome.errors);
      const isOver = outcome.status !== 'open';
      this.#report(
        isOver
          ? { type: 'refused', code: `session_${outcome.status}` }
          : { type: 'refused', code: 'invalid_fields', fields },
      );
      if (isOver) this.#end(outcome.status);
    } else
      this.#report({ type: 'refused', code: outcome.kind === 'ended' ? `session_${outcome.status}` : outcome.code });
  }

  async #submitHosted(): Promise<void> {
    if (this.#isSubmitting) return;
    this.#isSubmitting = true;
    const button = this.#form.querySelector<HTMLButtonElement>('button[type="submit"]');
    const texts = TEXTS[this.#locale];
    if (button !== null) [button.disabled, button.textContent] = [true, texts.submitting];
    const outcome = await this.#submit();
    this.#isSubmitting = false;
    if (button !== null) [button.disabled, button.textContent] = [false, texts.submit];
    this.#status.textContent = '';
    if (outcome === undefined) return;
    if (outcome.kind === 'completed') this.#leave('completed');
    else if (outcome.kind === 'ended') this.#end(outcome.status);
    else if (outcome.kind === 'failed') {
      this.#status.textContent = texts.unreachable;
      if (button !== null) button.textContent = texts.again;
    } else if (outcome.status === 'open') this.#fields.refuse(outcome.errors);
    else this.#end(outcome.status);
  }

  /** Empties the form when the session has ended; the hosted page says so, and goes back. */
  #end(status: string): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#fields.empty();
    this.#fields.lock(true);
    if (isFramed) this.#report({ type: 'error', code: `session_${status}` });
    else showEnd(this.#locale, status, this.#session.return_url);
  }

  #leave(status: string): void {
    this.#hasEnded = true;
    this.#fields.empty();
    leave(this.#session.return_url, status);
  }
}

function paragraph(className: string, text: string): HTMLParagraphElement {
  const made = document.createElement('p');
  made.className = className;
  made.textContent = text;
  if (className.includes('status')) made.setAttribute('role', 'status');
  return made;
}

/** Back does not come to this page again. */
function leave(returnUrl: string | undefined, status: string): void {
  if (returnUrl === undefined) return;
  const [before = '', ...fragment] = returnUrl.split('#');
  const sign = before.includes('?') ? (/[?&]$/.test(before) ? '' : '&') : '?';
  const after = fragment.length === 0 ? '' : `#${fragment.join('#')}`;
  location.replace(`${before}${sign}capture_session=${id}&status=${status}${after}`);
}

/** `expired` and `failed` say so first; other ends go back at once. */
function showEnd(locale: Locale, status: string, returnUrl: string | undefined): void {
  const texts = TEXTS[locale];
  if (returnUrl !== undefined && status !== 'expired' && status !== 'failed') {
    leave(returnUrl, status);
    return;
  }
  const main = document.createElement('main');
  main.className = 'page';
  main.append(paragraph('status', texts.ended[status] ?? texts.unknown));
  if (returnUrl !== undefined) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = texts.goOn;
    button.addEventListener('click', () => leave(returnUrl, status));
    main.append(button);
  }
  document.body.replaceChildren(main);
  document.documentElement.lang = locale;
}

async function open(settings: Settings): Promise<void> {
  const { port } = settings;
  const session = await loadSession(id, settings.secret);
  const locale = chooseLocale(settings.locale, navigator.languages);
  if (typeof session === 'string') {
    port?.postMessage({ type: 'error', code: session } satisfies Report);
    if (!isFramed) document.body.append(paragraph('page', TEXTS[locale].unknown));
    return;
  }
  // The hosted page exists only for sessions with a way back.
  if (!isFramed && session.return_url === undefined) {
    document.body.append(paragraph('page', TEXTS[locale].unknown));
    return;
  }
  if (session.status !== 'open') {
    port?.postMessage({ type: 'error', code: `session_${session.status}` } satisfies Report);
    if (!isFramed) showEnd(locale, session.status, session.return_url);
    return;
  }
  const form = new CardForm(settings, session);
  if (port !== undefined) port.onmessage = ({ data }: MessageEvent<Command>) => form.obey(data);
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
    void open({ secret, port, appearance, locale: typeof locale === 'string' ? locale : undefined });
  };
  window.addEventListener('message', receive);
}

if (!isKnown) {
  const locale = chooseLocale(undefined, navigator.languages);
  document.documentElement.lang = locale;
  document.body.append(paragraph('page', TEXTS[locale].unknown));
} else if (isFramed) awaitHandshake();
else void open({ secret: location.hash.slice(1), port: undefined, appearance: undefined, locale: undefined });
