import type { en } from './en.ts';
import { alerts } from './es/alerts.ts';
import { approvals } from './es/approvals.ts';
import { audit } from './es/audit.ts';
import { captures } from './es/captures.ts';
import { cardForm } from './es/card-form.ts';
import { errors } from './es/errors.ts';
import { guide } from './es/guide.ts';
import { health } from './es/health.ts';
import { join } from './es/join.ts';
import { keys } from './es/keys.ts';
import { lists } from './es/lists.ts';
import { notFound } from './es/not-found.ts';
import { onboarding } from './es/onboarding.ts';
import { operator } from './es/operator.ts';
import { overview } from './es/overview.ts';
import { parts } from './es/parts.ts';
import { payments } from './es/payments.ts';
import { profile } from './es/profile.ts';
import { proxy } from './es/proxy.ts';
import { reasons } from './es/reasons.ts';
import { requestLog } from './es/request-log.ts';
import { session } from './es/session.ts';
import { settingNames } from './es/setting-names.ts';
import { settings } from './es/settings.ts';
import { shell } from './es/shell.ts';
import { signIn } from './es/sign-in.ts';
import { status } from './es/status.ts';
import { team } from './es/team.ts';
import { testPayment } from './es/test-payment.ts';
import { tokens } from './es/tokens.ts';
import { webhooks } from './es/webhooks.ts';
import { workbench } from './es/workbench.ts';

/** Spanish texts by namespace. */
export const es: typeof en = {
  alerts,
  approvals,
  audit,
  captures,
  cardForm,
  errors,
  guide,
  health,
  join,
  keys,
  lists,
  notFound,
  onboarding,
  operator,
  overview,
  parts,
  payments,
  profile,
  proxy,
  reasons,
  requestLog,
  session,
  settingNames,
  settings,
  shell,
  signIn,
  status,
  team,
  testPayment,
  tokens,
  webhooks,
  workbench,
};
