import { alerts } from './en/alerts.ts';
import { approvals } from './en/approvals.ts';
import { audit } from './en/audit.ts';
import { captures } from './en/captures.ts';
import { cardForm } from './en/card-form.ts';
import { errors } from './en/errors.ts';
import { guide } from './en/guide.ts';
import { health } from './en/health.ts';
import { join } from './en/join.ts';
import { keys } from './en/keys.ts';
import { lists } from './en/lists.ts';
import { notFound } from './en/not-found.ts';
import { onboarding } from './en/onboarding.ts';
import { operator } from './en/operator.ts';
import { overview } from './en/overview.ts';
import { parts } from './en/parts.ts';
import { payments } from './en/payments.ts';
import { profile } from './en/profile.ts';
import { proxy } from './en/proxy.ts';
import { reasons } from './en/reasons.ts';
import { requestLog } from './en/request-log.ts';
import { session } from './en/session.ts';
import { settingNames } from './en/setting-names.ts';
import { settings } from './en/settings.ts';
import { shell } from './en/shell.ts';
import { signIn } from './en/sign-in.ts';
import { status } from './en/status.ts';
import { team } from './en/team.ts';
import { testPayment } from './en/test-payment.ts';
import { tokens } from './en/tokens.ts';
import { webhooks } from './en/webhooks.ts';
import { workbench } from './en/workbench.ts';

/** English texts by namespace. A new namespace needs its file, an import and an entry here and in es.ts. */
export const en = {
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
