import {
  Activity,
  Bell,
  Building2,
  ChartNoAxesColumn,
  CreditCard,
  FlaskConical,
  Inbox,
  KeyRound,
  KeySquare,
  Layers,
  ListChecks,
  Logs,
  type LucideIcon,
  Plug,
  ScrollText,
  Settings2,
  Stamp,
  TextCursorInput,
  Timer,
  UserRound,
  Users,
  Waypoints,
  Webhook,
} from 'lucide-react';
import type { Environment } from '../../../../src/kernel/environment.ts';
import type { Capability } from '../../../people/roles.ts';
import type { shell } from '../text/en/shell.ts';

/** Page in navigation, breadcrumbs and palette. */
export interface NavItem {
  readonly name: keyof typeof shell;
  /** Last segment of its address. */
  readonly path: string;
  readonly icon: LucideIcon;
  /** Document about the page, with an anchor if it has one. */
  readonly guide: string;
  readonly capability?: Capability;
  readonly only?: Environment;
  /** Not in the navigation: another page leads to it. */
  readonly isUnlisted?: true;
  /** Kind of pending items to count. */
  readonly pending?: 'approvals' | 'requests';
}

export const ENVIRONMENT_ITEMS: readonly NavItem[] = [
  { name: 'overview', path: 'overview', icon: ChartNoAxesColumn, guide: 'console#pages', capability: 'overview:read' },
  { name: 'payments', path: 'payments', icon: CreditCard, guide: 'guides/payments', capability: 'payments:read' },
  {
    name: 'testPayment',
    path: 'test-payment',
    icon: CreditCard,
    guide: 'processors/simulator',
    capability: 'workbench:use',
    only: 'sandbox',
    isUnlisted: true,
  },
  { name: 'tokens', path: 'tokens', icon: Layers, guide: 'guides/tokens', capability: 'tokens:read' },
  { name: 'captures', path: 'captures', icon: Timer, guide: 'guides/captures', capability: 'captures:read' },
  { name: 'cardForm', path: 'card-form', icon: TextCursorInput, guide: 'guides/browser', capability: 'captures:read' },
  { name: 'keys', path: 'keys', icon: KeyRound, guide: 'operations#accounts-and-keys', capability: 'keys:read' },
  { name: 'requestLog', path: 'requests', icon: Logs, guide: 'console#request-log', capability: 'requests:read' },
  { name: 'webhooks', path: 'webhooks', icon: Webhook, guide: 'guides/webhooks', capability: 'webhooks:read' },
  { name: 'proxy', path: 'proxy', icon: Waypoints, guide: 'guides/proxy', capability: 'proxy:read' },
  {
    name: 'workbench',
    path: 'workbench',
    icon: FlaskConical,
    guide: 'console#workbench-and-test-payments',
    capability: 'workbench:use',
    only: 'sandbox',
  },
];

export const ACCOUNT_ITEMS: readonly NavItem[] = [
  {
    name: 'onboarding',
    path: 'onboarding',
    icon: ListChecks,
    guide: 'console#onboarding-an-account',
    capability: 'onboarding:read',
  },
  { name: 'team', path: 'team', icon: Users, guide: 'console#roles-and-permissions', capability: 'team:read' },
  {
    name: 'approvals',
    path: 'approvals',
    icon: Stamp,
    guide: 'console#two-person-approval',
    capability: 'approvals:read',
    pending: 'approvals',
  },
  { name: 'audit', path: 'audit', icon: ScrollText, guide: 'audit-log', capability: 'audit:read' },
  {
    name: 'settings',
    path: 'settings',
    icon: Settings2,
    guide: 'console#two-person-approval',
    capability: 'account:settings',
  },
];

export const OPERATOR_ITEMS: readonly NavItem[] = [
  { name: 'operatorAccounts', path: 'accounts', icon: Building2, guide: 'console#onboarding-an-account' },
  { name: 'overview', path: 'overview', icon: ChartNoAxesColumn, guide: 'console#pages' },
  { name: 'requests', path: 'requests', icon: Inbox, guide: 'operations#payments', pending: 'requests' },
  { name: 'processors', path: 'processors', icon: Plug, guide: 'operations#payments' },
  { name: 'keyring', path: 'keyring', icon: KeySquare, guide: 'operations' },
  { name: 'health', path: 'health', icon: Activity, guide: 'operations' },
  { name: 'requestLog', path: 'request-log', icon: Logs, guide: 'console#request-log' },
  { name: 'operatorAudit', path: 'audit', icon: ScrollText, guide: 'audit-log' },
  { name: 'operatorTeam', path: 'team', icon: Users, guide: 'console#the-first-operator' },
];

/** Pages of the user, to which the header leads. */
export const PERSON_ITEMS: readonly NavItem[] = [
  { name: 'alerts', path: 'alerts', icon: Bell, guide: 'console#alerts' },
  { name: 'profile', path: 'profile', icon: UserRound, guide: 'console#signing-in' },
];
