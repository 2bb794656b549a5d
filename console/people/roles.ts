/** Roles and capabilities. A member has one role in an account; operators belong to no account. */

const READ_CAPABILITIES = [
  'overview:read',
  'onboarding:read',
  'keys:read',
  'requests:read',
  'tokens:read',
  'captures:read',
  'payments:read',
  'proxy:read',
  'webhooks:read',
  'audit:read',
  'team:read',
  'approvals:read',
] as const;

export const CAPABILITIES = [
  ...READ_CAPABILITIES,
  'keys:write',
  'tokens:delete',
  'captures:delete',
  'records:export',
  'payments:operate',
  'payments:resolve',
  'proxy:write',
  'webhooks:write',
  'workbench:use',
  'team:write',
  'approvals:decide',
  'activation:request',
  'account:settings',
  'operate',
] as const;

export type Capability = (typeof CAPABILITIES)[number];

/** Roles in an account. */
export const ACCOUNT_ROLES = ['owner', 'developer', 'analyst', 'auditor'] as const;

export const ROLE_NAMES = [...ACCOUNT_ROLES, 'operator'] as const;

export type Role = (typeof ROLE_NAMES)[number];

const ACCOUNT_CAPABILITIES = CAPABILITIES.filter((capability) => capability !== 'operate');
const NOT_OF_DEVELOPERS: readonly Capability[] = [
  'team:write',
  'account:settings',
  'activation:request',
  'records:export',
];

export const ROLES: Readonly<Record<Role, readonly Capability[]>> = {
  owner: ACCOUNT_CAPABILITIES,
  developer: ACCOUNT_CAPABILITIES.filter((capability) => !NOT_OF_DEVELOPERS.includes(capability)),
  analyst: [
    'overview:read',
    'onboarding:read',
    'tokens:read',
    'captures:read',
    'payments:read',
    'payments:operate',
    'records:export',
    'team:read',
    'approvals:read',
  ],
  auditor: [...READ_CAPABILITIES, 'records:export'],
  operator: ['operate'],
};

export const can = (role: Role, capability: Capability): boolean => ROLES[role].includes(capability);

export const isRole = (text: string): text is Role => (ROLE_NAMES as readonly string[]).includes(text);

/** A role in an account, for which a call is made. The account '' is the operator of the service. */
export interface Authority {
  readonly account: string;
  readonly role: Role;
}

/** The authority of commands on the machine, and of operators in the console. */
export const OPERATOR: Authority = { account: '', role: 'operator' };

/** True for the role operator in the account '', and for the other roles in other accounts. */
export const isRoleValidFor = ({ account, role }: Authority): boolean => (account === '') === (role === 'operator');

/** Returns the role that an account must always have a holder of. */
export const mandatoryRole = (account: string): Role => (account === '' ? 'operator' : 'owner');

/** Operators invite operators and owners; owners invite the other members of their account. */
export function mayInvite(by: Authority, to: Authority): boolean {
  if (!isRoleValidFor(to)) return false;
  if (by.role === 'operator') return by.account === '' && to.role === mandatoryRole(to.account);
  return by.account === to.account && can(by.role, 'team:write');
}

/** A reset gives access to everything the user sees, so an owner may reset only users without another account. */
export function mayReset(by: Authority, memberships: readonly Authority[]): boolean {
  if (by.role === 'operator') return by.account === '';
  const [only, ...others] = memberships;
  return can(by.role, 'team:write') && others.length === 0 && only?.account === by.account;
}
