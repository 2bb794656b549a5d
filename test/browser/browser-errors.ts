import assert from 'node:assert/strict';
import type { BrowserContext, ConsoleMessage, Request, Response, WebError } from 'playwright-core';

/** Requests of scripts, whose rejection the page can report to the user. */
const ASKED_BY_SCRIPT = new Set(['fetch', 'xhr']);

/** Everything that went wrong in the pages of a person without being shown to them. */
export class BrowserErrors {
  readonly #context: BrowserContext;
  #found: string[] = [];
  #refused: string[] = [];

  /**
   * Pages that are opened later are included. The browser reports violations of the content security policy on its console.
   */
  constructor(context: BrowserContext) {
    this.#context = context;
    context.on('console', this.#readMessage);
    context.on('weberror', this.#readError);
    context.on('response', this.#readResponse);
    context.on('requestfailed', this.#readFailure);
  }

  stop(): void {
    this.#context.off('console', this.#readMessage);
    this.#context.off('weberror', this.#readError);
    this.#context.off('response', this.#readResponse);
    this.#context.off('requestfailed', this.#readFailure);
  }

  readonly #readMessage = (message: ConsoleMessage): void => {
    // Failed requests are reported below, with their address.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      this.#found.push(`console: ${message.text()}`);
  };

  readonly #readError = (event: WebError): void => {
    const { name, message, stack } = event.error();
    this.#found.push(`error: ${name}: ${message}\n${stack}`);
  };

  readonly #readFailure = (request: Request): void => {
    const text = request.failure()?.errorText ?? '';
    // A page that is left aborts its requests.
    if (text !== 'net::ERR_ABORTED') this.#found.push(`not loaded: ${request.method()} ${request.url()}: ${text}`);
  };

  /** A refusal is an answer that a page has to show; a fault, or a piece of the page that is missing, is not. */
  readonly #readResponse = (response: Response): void => {
    const status = response.status();
    const isAnswer = ASKED_BY_SCRIPT.has(response.request().resourceType());
    if (status < 400) return;
    const target = isAnswer && status < 500 ? this.#refused : this.#found;
    target.push(`${status}: ${response.request().method()} ${response.url()}`);
  };

  /** Fails when the service rejected any request of a script but the expected one, and removes it from the list. */
  checkRefusals(expected: RegExp): void {
    const refused = this.#refused.filter((text) => !expected.test(text));
    this.#refused = [];
    assert.equal(refused.join('\n'), '', 'the pages asked for what they were refused');
  }

  /** Takes back what the test brought about itself; fails when there was none of it. */
  expect(pattern: RegExp): void {
    const expected = this.#found.filter((text) => pattern.test(text));
    assert.ok(expected.length > 0, `no error matches ${pattern}; errors: ${this.#found.join('\n')}`);
    this.#found = this.#found.filter((text) => !pattern.test(text));
  }

  /** Fails when there is any, and forgets it. */
  check(): void {
    const found = this.#found;
    this.#found = [];
    assert.equal(found.join('\n'), '', 'the pages complained');
  }
}
