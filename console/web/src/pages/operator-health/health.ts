import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { showHealth } from '../../../../wire/operator.ts';

/** Health of the node, as the service shows it. */
export type Health = ValueOf<typeof showHealth.data>;
