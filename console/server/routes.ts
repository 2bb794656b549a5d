import type { Route } from './route.ts';
import { alertRoutes } from './routes/alerts.ts';
import { approvalRoutes } from './routes/approvals.ts';
import { auditRoutes } from './routes/audit.ts';
import { captureRoutes } from './routes/captures.ts';
import { cardFormRoutes } from './routes/card-form.ts';
import { enrollmentRoutes } from './routes/enrollment.ts';
import { keyRoutes } from './routes/keys.ts';
import { onboardingRoutes } from './routes/onboarding.ts';
import { operatorAccountRoutes } from './routes/operator-accounts.ts';
import { operatorAuditRoutes } from './routes/operator-audit.ts';
import { operatorPaymentRoutes } from './routes/operator-payments.ts';
import { operatorServiceRoutes } from './routes/operator-service.ts';
import { operatorTeamRoutes } from './routes/operator-team.ts';
import { overviewRoutes } from './routes/overview.ts';
import { paymentOperationRoutes } from './routes/payment-operations.ts';
import { paymentRoutes } from './routes/payments.ts';
import { profileRoutes } from './routes/profile.ts';
import { proxyRoutes } from './routes/proxy.ts';
import { receiptRoutes } from './routes/receipts.ts';
import { requestLogRoutes } from './routes/request-log.ts';
import { sessionRoutes } from './routes/session.ts';
import { teamRoutes } from './routes/team.ts';
import { tokenRoutes } from './routes/tokens.ts';
import { unknownOutcomeRoutes } from './routes/unknown-outcomes.ts';
import { viewRoutes } from './routes/views.ts';
import { webhookRoutes } from './routes/webhooks.ts';
import { workbenchRoutes } from './routes/workbench.ts';

/** Every route of the console. */
export const routes: readonly Route[] = [
  ...sessionRoutes,
  ...enrollmentRoutes,
  ...profileRoutes,
  ...onboardingRoutes,
  ...keyRoutes,
  ...requestLogRoutes,
  ...teamRoutes,
  ...approvalRoutes,
  ...operatorAccountRoutes,
  ...operatorPaymentRoutes,
  ...operatorTeamRoutes,
  ...operatorServiceRoutes,
  ...overviewRoutes,
  ...alertRoutes,
  ...tokenRoutes,
  ...captureRoutes,
  ...paymentRoutes,
  ...paymentOperationRoutes,
  ...unknownOutcomeRoutes,
  ...proxyRoutes,
  ...webhookRoutes,
  ...cardFormRoutes,
  ...workbenchRoutes,
  ...viewRoutes,
  ...auditRoutes,
  ...operatorAuditRoutes,
  ...receiptRoutes,
];
