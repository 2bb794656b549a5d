import { verifyAccount } from '../../../src/audit/verify.ts';
import { exportAudit, listAudit, verifyAudit } from '../../wire/audit.ts';
import { lookedAt } from '../looks.ts';
import { type Route, route, streamRoute } from '../route.ts';
import { oneAtATime } from '../verifying.ts';
import { exportOf, readLog, shownVerification } from './audit-view.ts';

export const auditRoutes: readonly Route[] = [
  route(listAudit, (call) => readLog(call, call.account, call.body)),

  route(verifyAudit, async (call) => {
    const { services, account } = call;
    const { database, journalKey } = services;
    const verify = () => oneAtATime(database, () => verifyAccount(database, journalKey, account));
    return shownVerification(await lookedAt(call, verify));
  }),

  streamRoute(exportAudit, (call) => exportOf(call, call.account)),
];
