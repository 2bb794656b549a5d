import {
  Activity,
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
  Timer,
  Users,
  Waypoints,
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
  readonly capability?: Capability;
  readonly only?: Environment;
  /** Kind of pending items to count. */
  readonly pending?: 'approvals' | 'requests';
}

export const ENVIRONMENT_ITEMS: readonly NavItem[] = [
  { name: 'overview', path: 'overview', icon: ChartNoAxesColumn, capability: 'overview:read' },
  { name: 'payments', path: 'payments', icon: CreditCard, capability: 'payments:read' },
  { name: 'tokens', path: 'tokens', icon: Layers, capability: 'tokens:read' },
  { name: 'captures', path: 'captures', icon: Timer, capability: 'captures:read' },
  { name: 'keys', path: 'keys', icon: KeyRound, capability: 'keys:read' },
  { name: 'requestLog', path: 'requests', icon: Logs, capability: 'requests:read' },
  { name: 'proxy', path: 'proxy', icon: Waypoints, capability: 'proxy:read' },
  { name: 'workbench', path: 'workbench', icon: FlaskConical, capability: 'workbench:use', only: 'sandbox' },
];

export const ACCOUNT_ITEMS: readonly NavItem[] = [
  { name: 'onboarding', path: 'onboarding', icon: ListChecks, capability: 'onboarding:read' },
  { name: 'team', path: 'team', icon: Users, capability: 'team:read' },
  { name: 'approvals', path: 'approvals', icon: Stamp, capability: 'approvals:read', pending: 'approvals' },
  { name: 'audit', path: 'audit', icon: ScrollText, capability: 'audit:read' },
  { name: 'settings', path: 'settings', icon: Settings2, capability: 'account:settings' },
];

export const OPERATOR_ITEMS: readonly NavItem[] = [
  { name: 'operatorAccounts', path: 'accounts', icon: Building2 },
  { name: 'overview', path: 'overview', icon: ChartNoAxesColumn },
  { name: 'requests', path: 'requests', icon: Inbox, pending: 'requests' },
  { name: 'processors', path: 'processors', icon: Plug },
  { name: 'keyring', path: 'keyring', icon: KeySquare },
  { name: 'health', path: 'health', icon: Activity },
  { name: 'requestLog', path: 'request-log', icon: Logs },
  { name: 'operatorAudit', path: 'audit', icon: ScrollText },
  { name: 'operatorTeam', path: 'team', icon: Users },
];
