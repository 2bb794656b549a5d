import { verifyJournal } from '../../../src/audit/verify.ts';
import { exportAuditOfService, listAuditOfService, verifyAuditOfService } from '../../wire/audit.ts';
import { lookedAt } from '../looks.ts';
import { type Route, route, streamRoute } from '../route.ts';
import { oneAtATime } from '../verifying.ts';
import { exportOf, readLog, shownVerification } from './audit-view.ts';

export const operatorAuditRoutes: readonly Route[] = [
  route(listAuditOfService, (call) => readLog(call, call.body.account ?? '', call.body)),

  route(verifyAuditOfService, async (call) => {
    const { database, journalKey } = call.services;
    const verify = () => oneAtATime(database, () => verifyJournal(database, journalKey));
    return shownVerification(await lookedAt(call, verify));
  }),

  streamRoute(exportAuditOfService, (call) => exportOf(call, call.query.account)),
];
