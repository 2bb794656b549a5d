import { verifyJournal } from '../../audit/verify.ts';
import { type Route, route, streamRoute } from '../route.ts';
import { oneAtATime } from '../verifying.ts';
import { exportAuditOfService, listAuditOfService, verifyAuditOfService } from '../wire/audit.ts';
import { exportOf, readLog, shownVerification } from './audit-view.ts';

export const operatorAuditRoutes: readonly Route[] = [
  route(listAuditOfService, (call) => readLog(call, call.body.account ?? '', call.body)),

  route(verifyAuditOfService, async ({ services: { database, journalKey } }) =>
    shownVerification(await oneAtATime(database, () => verifyJournal(database, journalKey))),
  ),

  streamRoute(exportAuditOfService, (call) => exportOf(call, call.query.account)),
];
