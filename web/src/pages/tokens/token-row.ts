import type { listTokens } from '../../../../src/console/wire/records.ts';
import type { ReadBy } from '../../../../src/http/fields.ts';

export type TokenRow = ReadBy<typeof listTokens.data>['tokens'][number];
