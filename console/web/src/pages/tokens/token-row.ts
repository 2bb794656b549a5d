import type { ReadBy } from '../../../../../src/http/fields.ts';
import type { listTokens } from '../../../../wire/records.ts';

export type TokenRow = ReadBy<typeof listTokens.data>['tokens'][number];
