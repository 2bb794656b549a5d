import { verifyLog } from '../../../src/audit/verify-log.ts';
import { exportServiceAudit, listServiceAudit, verifyServiceAudit } from '../../wire/audit.ts';
import { exportServiceAuditRecords } from '../../wire/exports.ts';
import { withAuditRead, withVerificationLock } from '../audit-read-limit.ts';
import { type Route, route, streamRoute } from '../route.ts';
import { exportLog, exportRecords, readLog, toVerificationView } from './audit-view.ts';

export const operatorAuditRoutes: readonly Route[] = [
  route(listServiceAudit, (call) => readLog(call, call.body.account ?? '')),

  route(verifyServiceAudit, async (call) => {
    const { services } = call;
    const verify = () => withVerificationLock(services.database, undefined, () => verifyLog(services));
    return toVerificationView(await withAuditRead(call, verify));
  }),

  streamRoute(exportServiceAuditRecords, (call) =>
    exportRecords(call, call.body.filter.account ?? '', exportServiceAuditRecords.access),
  ),

  streamRoute(exportServiceAudit, (call) => exportLog(call, call.query.account, exportServiceAudit.access)),
];
