import { object, output, plainText } from '../../src/http/fields.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { define } from './definition.ts';

/** Issues the signed receipt of a deletion that the audit log contains. */
export const issueReceipt = define({
  method: 'POST',
  path: '/api/accounts/:account/:environment/receipts',
  access: 'audit:read',
  allowedWhileSuspended: true,
  body: object({ target: plainText(LIMITS.auditFilterCharacters, 'The deleted record, as token:… or capture:…') }),
  data: object({ receipt: output.text('The file of the receipt') }),
});
