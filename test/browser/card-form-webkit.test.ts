import assert from 'node:assert/strict';
import { onlyLong } from '../scope.ts';
import { describeCardForm } from './card-form-in-browser.ts';
import type { DrivenBrowser } from './driven-browser.ts';
import { openWebKit, whyNoWebKit } from './webkit.ts';

const skip = onlyLong || whyNoWebKit();

describeCardForm('WebKit', { skip, open: openWebKit });

/** Safari has them since version 26. */
async function openWithoutTrustedTypes(): Promise<DrivenBrowser> {
  const browser = await openWebKit({ features: '-TrustedTypes' });
  assert.equal(await browser.evaluate('typeof trustedTypes'), 'undefined');
  return browser;
}
describeCardForm('WebKit without Trusted Types', { skip, open: openWithoutTrustedTypes });
