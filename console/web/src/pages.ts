import { type ComponentType, lazy } from 'react';
import { CallError } from './api/call.ts';

/** Loads the code of a page when the user opens it first. */
const page = (load: () => Promise<ComponentType>) =>
  lazy(async () => {
    try {
      return { default: await load() };
    } catch {
      throw new CallError('offline', 0, '');
    }
  });

export const SignInPage = page(async () => (await import('./pages/sign-in/sign-in-page.tsx')).SignInPage);
export const JoinPage = page(async () => (await import('./pages/join/join-page.tsx')).JoinPage);
export const ProfilePage = page(async () => (await import('./pages/profile/profile-page.tsx')).ProfilePage);
export const AlertsPage = page(async () => (await import('./pages/alerts/alerts-page.tsx')).AlertsPage);
export const NotFoundPage = page(async () => (await import('./pages/not-found/not-found-page.tsx')).NotFoundPage);
export const OverviewPage = page(async () => (await import('./pages/overview/overview-page.tsx')).OverviewPage);
export const OnboardingPage = page(async () => (await import('./pages/onboarding/onboarding-page.tsx')).OnboardingPage);
export const KeysPage = page(async () => (await import('./pages/keys/keys-page.tsx')).KeysPage);
export const TokensPage = page(async () => (await import('./pages/tokens/tokens-page.tsx')).TokensPage);
export const TokenPage = page(async () => (await import('./pages/token/token-page.tsx')).TokenPage);
export const CapturesPage = page(async () => (await import('./pages/captures/captures-page.tsx')).CapturesPage);
export const CapturePage = page(async () => (await import('./pages/capture/capture-page.tsx')).CapturePage);
export const PaymentsPage = page(async () => (await import('./pages/payments/payments-page.tsx')).PaymentsPage);
export const PaymentPage = page(async () => (await import('./pages/payment/payment-page.tsx')).PaymentPage);
export const CardFormPage = page(async () => (await import('./pages/card-form/card-form-page.tsx')).CardFormPage);
export const GuidePage = page(async () => (await import('./pages/guide/guide-page.tsx')).GuidePage);
export const TestPaymentPage = page(
  async () => (await import('./pages/test-payment/test-payment-page.tsx')).TestPaymentPage,
);
export const WebhooksPage = page(async () => (await import('./pages/webhooks/webhooks-page.tsx')).WebhooksPage);
export const WebhookPage = page(async () => (await import('./pages/webhook/webhook-page.tsx')).WebhookPage);
export const ProxyPage = page(async () => (await import('./pages/proxy/proxy-page.tsx')).ProxyPage);
export const RequestsPage = page(async () => (await import('./pages/requests/requests-page.tsx')).RequestsPage);
export const WorkbenchPage = page(async () => (await import('./pages/workbench/workbench-page.tsx')).WorkbenchPage);
export const AuditPage = page(async () => (await import('./pages/audit/audit-page.tsx')).AuditPage);
export const TeamPage = page(async () => (await import('./pages/team/team-page.tsx')).TeamPage);
export const ApprovalsPage = page(async () => (await import('./pages/approvals/approvals-page.tsx')).ApprovalsPage);
export const SettingsPage = page(async () => (await import('./pages/settings/settings-page.tsx')).SettingsPage);
export const OperatorOverviewPage = page(
  async () => (await import('./pages/operator-overview/operator-overview-page.tsx')).OperatorOverviewPage,
);
export const OperatorAccountsPage = page(
  async () => (await import('./pages/operator-accounts/operator-accounts-page.tsx')).OperatorAccountsPage,
);
export const OperatorAccountPage = page(
  async () => (await import('./pages/operator-account/operator-account-page.tsx')).OperatorAccountPage,
);
export const OperatorRequestsPage = page(
  async () => (await import('./pages/operator-requests/operator-requests-page.tsx')).OperatorRequestsPage,
);
export const OperatorProcessorsPage = page(
  async () => (await import('./pages/operator-processors/operator-processors-page.tsx')).OperatorProcessorsPage,
);
export const OperatorKeyringPage = page(
  async () => (await import('./pages/operator-keyring/operator-keyring-page.tsx')).OperatorKeyringPage,
);
export const OperatorHealthPage = page(
  async () => (await import('./pages/operator-health/operator-health-page.tsx')).OperatorHealthPage,
);
export const OperatorAuditPage = page(
  async () => (await import('./pages/operator-audit/operator-audit-page.tsx')).OperatorAuditPage,
);
export const OperatorRequestLogPage = page(
  async () => (await import('./pages/operator-request-log/operator-request-log-page.tsx')).OperatorRequestLogPage,
);
export const OperatorTeamPage = page(
  async () => (await import('./pages/operator-team/operator-team-page.tsx')).OperatorTeamPage,
);
