import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { listTokens } from '../../../../wire/records.ts';

export type TokenRow = ValueOf<typeof listTokens.data>['tokens'][number];
