import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';

/** Everything that a page got from the service, and what it showed at each check. */
export class Memory {
  readonly #page: Page;
  readonly #responses: Promise<{ readonly from: string; readonly text: string }>[] = [];
  readonly #shown: { readonly from: string; readonly text: string }[] = [];

  constructor(page: Page) {
    this.#page = page;
    page.on('response', (response) => {
      const { pathname } = new URL(response.url());
      if (!pathname.startsWith('/api/')) return;
      const from = `${response.request().method()} ${pathname}`;
      // A page that was left no longer has responses.
      this.#responses.push(
        response.text().then(
          (text) => ({ from, text }),
          () => ({ from, text: '' }),
        ),
      );
    });
  }

  /** Takes down what the page shows now, with what stands in its fields and attributes. */
  async readMemory(): Promise<void> {
    const fields = this.#page.locator('input, textarea');
    const values = await fields.evaluateAll((all) => all.map((field) => (field as { value?: string }).value ?? ''));
    const text = [this.#page.url(), await this.#page.content(), ...values].join('\n');
    this.#shown.push({ from: new URL(this.#page.url()).pathname, text });
  }

  /**
   * Fails when one of the values was ever received or shown, also in groups of digits; and when nothing was received at
   * all.
   */
  async assertNever(secrets: readonly string[]): Promise<void> {
    const responses = await Promise.all(this.#responses);
    assert.ok(responses.some(({ text }) => text !== '') && this.#shown.length > 0, 'nothing was checked');
    for (const { from, text } of [...responses, ...this.#shown]) {
      const joined = text.replace(/(?<=\d)[\s\u00a0-]+(?=\d)/g, '');
      const found = secrets.filter((secret) => text.includes(secret) || joined.includes(secret));
      assert.equal(found.length, 0, `${from} contains a secret`);
    }
  }
}
