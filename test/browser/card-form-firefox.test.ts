import { onlyLong } from '../scope.ts';
import { describeCardForm } from './card-form-in-browser.ts';
import { openFirefox, whyNoFirefox } from './firefox.ts';

describeCardForm('Firefox', { skip: onlyLong || whyNoFirefox(), open: openFirefox });
