import { verifyJournal } from '../../audit/verify.ts';
import { type Route, route, streamRoute } from '../route.ts';
import { oneAtATime } from '../verifying.ts';
import { exportAuditOfService, listAuditOfService, verifyAuditOfService } from '../wire/audit.ts';
import { exportOf, filterOf, shownPage, shownVerification } from './audit-view.ts';

export const operatorAuditRoutes: readonly Route[] = [
  route(listAuditOfService, async ({ services: { auditReading }, body }) =>
    shownPage(await auditReading.read(body.account ?? '', filterOf(body), body.cursor)),
  ),

  route(verifyAuditOfService, async ({ services: { database, journalKey } }) =>
    shownVerification(await oneAtATime(database, () => verifyJournal(database, journalKey))),
  ),

  streamRoute(exportAuditOfService, (call) => exportOf(call, call.query.account, fileNameOf(call.query.account))),
];

/** What an operator gave may be no id, and then has no place in a header. */
const fileNameOf = (account: string | undefined): string =>
  /^\w{1,64}$/.test(account ?? '') ? `${account}` : 'service';
