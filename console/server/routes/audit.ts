import { verifyLog } from '../../../src/audit/verify-log.ts';
import { exportAudit, listAudit, verifyAudit } from '../../wire/audit.ts';
import { exportAuditRecords } from '../../wire/exports.ts';
import { withAuditRead, withVerificationLock } from '../audit-read-limit.ts';
import { type Route, route, streamRoute } from '../route.ts';
import { exportLog, exportRecords, readLog, toVerificationView } from './audit-view.ts';

export const auditRoutes: readonly Route[] = [
  route(listAudit, (call) => readLog(call, call.account)),

  route(verifyAudit, async (call) => {
    const { services, account } = call;
    const verify = () => withVerificationLock(services.database, account, () => verifyLog(services, account));
    return toVerificationView(await withAuditRead(call, verify));
  }),

  streamRoute(exportAuditRecords, (call) => exportRecords(call, call.account, exportAuditRecords.access)),

  streamRoute(exportAudit, (call) => exportLog(call, call.account, exportAudit.access)),
];
