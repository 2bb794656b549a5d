import { formatReceipt } from '../../../src/audit/receipt.ts';
import type { ReceiptSubject } from '../../../src/captures/deletion-receipts.ts';
import { Failure } from '../../../src/kernel/failure.ts';
import { issueReceipt } from '../../wire/receipts.ts';
import { withAuditRead } from '../audit-read-limit.ts';
import { type Route, route } from '../route.ts';

export const receiptRoutes: readonly Route[] = [
  route(issueReceipt, async (call) => {
    const { services, transaction, tenant, body } = call;
    const request = { tenant, subject: parseSubject(body.target), backupDays: undefined };
    const issued = await withAuditRead(call, () => services.receipts.issue(transaction, request));
    return { receipt: formatReceipt(issued) };
  }),
];

/** Throws `unknown_record` for a record of another kind. */
function parseSubject(target: string): ReceiptSubject {
  const [, kind, id = ''] = /^(token|capture):(.+)$/s.exec(target) ?? [];
  if (kind !== 'token' && kind !== 'capture') throw new Failure('unknown_record');
  return { kind, id };
}
