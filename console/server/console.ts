import { RequestLogQuery } from '../../src/accounts/request-log-query.ts';
import type { Usage } from '../../src/accounts/usage.ts';
import { AuditLogQuery } from '../../src/audit/audit-log-query.ts';
import { listBackups } from '../../src/backup/backup-store.ts';
import { CaptureQueries } from '../../src/captures/capture-queries.ts';
import { DeletionReceipts, type ReceiptServices } from '../../src/captures/deletion-receipts.ts';
import type { SadKeys } from '../../src/crypto/sad-keys.ts';
import { Workbench } from '../../src/http/workbench.ts';
import { PaymentQueries } from '../../src/payments/payment-queries.ts';
import { TokenQueries } from '../../src/vault/token-queries.ts';
import { Alerts } from '../alerts/alerts.ts';
import { DualControlQuestion } from '../approvals/dual-control-question.ts';
import { ActivationRequests } from './activation-requests.ts';
import { listApprovableChanges } from './approvable-changes.ts';
import { ListCounts } from './list-counts.ts';
import { RecordTotals } from './record-totals.ts';
import type { ConsoleServices, Route } from './route.ts';
import { routes } from './routes.ts';
import { SessionDoor, type SessionDoorOptions } from './session-door.ts';
import { UsageOverview } from './usage-overview.ts';

/** First segments of the page addresses; all of them are the one page that the browser renders. */
export const PAGES = ['/', '/sign-in', '/join', '/alerts', '/profile', '/a', '/operator', '/guides'] as const;

/** Dependencies of the routes. */
export type ConsoleDependencies = Omit<
  ConsoleServices,
  | 'changes'
  | 'dualControlQuestion'
  | 'requests'
  | 'totals'
  | 'listCounts'
  | 'usageOverview'
  | 'tokenQueries'
  | 'captureQueries'
  | 'paymentQueries'
  | 'auditReading'
  | 'receipts'
  | 'requestLogQuery'
  | 'alerts'
  | 'workbench'
> &
  Pick<ReceiptServices, 'signingKeys'> & { readonly usage: Usage; readonly sadKeys: SadKeys };

export type ConsoleLimits = Omit<SessionDoorOptions, 'services'>;

/** The interface of the console, as a listener serves it. */
export interface ConsoleInterface {
  readonly routes: readonly Route[];
  readonly door: SessionDoor;
  readonly services: ConsoleServices;
}

export function createConsoleInterface(dependencies: ConsoleDependencies, limits: ConsoleLimits): ConsoleInterface {
  const { database, keyring, sadKeys, clock, random, usage } = dependencies;
  const services: ConsoleServices = {
    ...dependencies,
    changes: listApprovableChanges(routes),
    dualControlQuestion: new DualControlQuestion(dependencies),
    requests: new ActivationRequests({ ...dependencies, processors: dependencies.activations.processors }),
    totals: new RecordTotals({ database, clock }),
    listCounts: new ListCounts({ clock }),
    tokenQueries: new TokenQueries({ database, keyring }),
    captureQueries: new CaptureQueries({ database, keyring, sadKeys, clock }),
    paymentQueries: new PaymentQueries({ database, keyring }),
    usageOverview: new UsageOverview({ usage, database, clock }),
    auditReading: new AuditLogQuery({ database, random }),
    receipts: new DeletionReceipts({ ...dependencies, listBackups }),
    requestLogQuery: new RequestLogQuery({ database }),
    alerts: new Alerts(dependencies),
    workbench: new Workbench(dependencies, dependencies),
  };
  return { routes, door: new SessionDoor({ services, ...limits }), services };
}
