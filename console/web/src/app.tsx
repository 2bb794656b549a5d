import { QueryClientProvider } from '@tanstack/react-query';
import { useState } from 'react';
import { BrowserRouter, Navigate, Route, Routes } from 'react-router';
import { newClient } from './api/client.ts';
import * as pages from './pages.ts';
import { AutoRefetch } from './session/auto-refetch.ts';
import { RequireSignIn } from './session/require-sign-in.tsx';
import { SessionProvider } from './session/session.tsx';
import { StepUpProvider } from './session/step-up.tsx';
import { AccountGate, EnvironmentGate, OperatorGate } from './shell/gates.tsx';
import { NotificationArea } from './shell/notification-area.tsx';
import { Shell } from './shell/shell.tsx';
import { SignedOutLayout } from './shell/signed-out-layout.tsx';
import { Start } from './shell/start.tsx';

export function App() {
  const [client] = useState(newClient);
  return (
    <QueryClientProvider client={client}>
      <BrowserRouter>
        <SessionProvider>
          <AutoRefetch />
          <StepUpProvider>
            <AllRoutes />
            <NotificationArea />
          </StepUpProvider>
        </SessionProvider>
      </BrowserRouter>
    </QueryClientProvider>
  );
}

/** Routes of all pages. */
function AllRoutes() {
  return (
    <Routes>
      <Route element={<SignedOutLayout />}>
        <Route path="sign-in" element={<pages.SignInPage />} />
        <Route path="join" element={<pages.JoinPage />} />
      </Route>
      <Route element={<RequireSignIn />}>
        <Route element={<Shell />}>
          <Route index element={<Start />} />
          <Route path="alerts" element={<pages.AlertsPage />} />
          <Route path="guides/*" element={<pages.GuidePage />} />
          <Route path="profile" element={<pages.ProfilePage />} />
          <Route path="a/:account" element={<AccountGate />}>
            <Route index element={<Navigate to="onboarding" replace />} />
            <Route path="onboarding" element={<pages.OnboardingPage />} />
            <Route path="audit" element={<pages.AuditPage />} />
            <Route path="team" element={<pages.TeamPage />} />
            <Route path="approvals" element={<pages.ApprovalsPage />} />
            <Route path="settings" element={<pages.SettingsPage />} />
            <Route path=":environment" element={<EnvironmentGate />}>
              <Route index element={<Navigate to="overview" replace />} />
              <Route path="overview" element={<pages.OverviewPage />} />
              <Route path="keys" element={<pages.KeysPage />} />
              <Route path="tokens" element={<pages.TokensPage />} />
              <Route path="tokens/:token" element={<pages.TokenPage />} />
              <Route path="captures" element={<pages.CapturesPage />} />
              <Route path="captures/:id" element={<pages.CapturePage />} />
              <Route path="payments" element={<pages.PaymentsPage />} />
              <Route path="payments/:id" element={<pages.PaymentPage />} />
              <Route path="test-payment" element={<pages.TestPaymentPage />} />
              <Route path="card-form" element={<pages.CardFormPage />} />
              <Route path="webhooks" element={<pages.WebhooksPage />} />
              <Route path="webhooks/:id" element={<pages.WebhookPage />} />
              <Route path="proxy" element={<pages.ProxyPage />} />
              <Route path="requests" element={<pages.RequestsPage />} />
              <Route path="workbench" element={<pages.WorkbenchPage />} />
            </Route>
          </Route>
          <Route path="operator" element={<OperatorGate />}>
            <Route index element={<Navigate to="accounts" replace />} />
            <Route path="overview" element={<pages.OperatorOverviewPage />} />
            <Route path="accounts" element={<pages.OperatorAccountsPage />} />
            <Route path="accounts/:id" element={<pages.OperatorAccountPage />} />
            <Route path="requests" element={<pages.OperatorRequestsPage />} />
            <Route path="processors" element={<pages.OperatorProcessorsPage />} />
            <Route path="keyring" element={<pages.OperatorKeyringPage />} />
            <Route path="health" element={<pages.OperatorHealthPage />} />
            <Route path="request-log" element={<pages.OperatorRequestLogPage />} />
            <Route path="audit" element={<pages.OperatorAuditPage />} />
            <Route path="team" element={<pages.OperatorTeamPage />} />
          </Route>
          <Route path="*" element={<pages.NotFoundPage />} />
        </Route>
      </Route>
    </Routes>
  );
}
