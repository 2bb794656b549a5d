import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { showAccount } from '../../../../wire/operator.ts';

/** Account with its payments, as the service shows it to operators. */
export type AccountView = ValueOf<typeof showAccount.data>;
export type Account = AccountView['account'];
