import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  ACCOUNT_ROLES,
  CAPABILITIES,
  can,
  isRole,
  isRoleValidFor,
  mayInvite,
  mayReset,
  OPERATOR,
  ROLE_NAMES,
  ROLES,
  type Role,
} from './roles.ts';

const isRead = (capability: string): boolean => capability.endsWith(':read');
const role = fc.constantFrom(...ROLE_NAMES);
const account = fc.constantFrom('', 'acct_one', 'acct_two');
const authority = fc.record({ account, role }).filter(isRoleValidFor);

describe('roles', () => {
  test('have capabilities of the list only, each once', () => {
    for (const name of ROLE_NAMES) {
      assert.equal(new Set(ROLES[name]).size, ROLES[name].length, name);
      for (const capability of ROLES[name]) assert.ok(CAPABILITIES.includes(capability), `${name}: ${capability}`);
    }
  });

  test('only operators have the capabilities of operators, and operators have none in an account', () => {
    assert.deepEqual(ROLES.operator, ['operate']);
    for (const name of ACCOUNT_ROLES) assert.equal(can(name, 'operate'), false, name);
  });

  test('an owner may do everything in an account', () => {
    assert.deepEqual(
      CAPABILITIES.filter((capability) => !can('owner', capability)),
      ['operate'],
    );
  });

  test('a developer may do everything except changes of members and the account, and exports, and may approve', () => {
    assert.deepEqual(
      CAPABILITIES.filter((capability) => can('owner', capability) && !can('developer', capability)).sort(),
      ['account:settings', 'activation:request', 'records:export', 'team:write'],
    );
    assert.ok(can('developer', 'approvals:decide'));
  });

  test('an auditor reads and exports everything, and changes nothing', () => {
    assert.deepEqual([...ROLES.auditor].sort(), [...CAPABILITIES.filter(isRead), 'records:export'].sort());
  });

  test('an analyst reads and exports payments and related records, and operates payments', () => {
    assert.deepEqual(
      ROLES.analyst.filter((capability) => !isRead(capability)),
      ['payments:operate', 'records:export'],
    );
    for (const capability of ['keys:read', 'proxy:read', 'audit:read', 'payments:resolve'] as const)
      assert.equal(can('analyst', capability), false);
  });

  test('are distinguished from other texts', () => {
    for (const name of ROLE_NAMES) assert.ok(isRole(name));
    for (const text of ['', 'Owner', 'admin', 'constructor']) assert.equal(isRole(text), false);
  });
});

describe('invitations by role', () => {
  test('no member invites to another account, nor as operator', () => {
    fc.assert(
      fc.property(authority, authority, (by, to) => {
        if (by.role !== 'operator' && mayInvite(by, to)) {
          assert.equal(by.account, to.account);
          assert.equal(by.role, 'owner');
          assert.notEqual(to.role, 'operator');
        }
      }),
    );
  });

  test('a role is valid for its kind of account only', () => {
    fc.assert(
      fc.property(authority, account, role, (by, to, as) => {
        if (!isRoleValidFor({ account: to, role: as })) assert.equal(mayInvite(by, { account: to, role: as }), false);
      }),
    );
  });

  test('an owner invites to every role, an operator to the mandatory roles', () => {
    const of = (as: Role) => ({ account: 'acct_one', role: as });
    for (const as of ACCOUNT_ROLES) {
      assert.equal(mayInvite(of('owner'), of(as)), true);
      assert.equal(mayInvite(OPERATOR, of(as)), as === 'owner');
    }
    assert.equal(mayInvite(OPERATOR, OPERATOR), true);
  });
});

describe('credential reset links by role', () => {
  test('an owner creates them only for users who belong to that account and no other', () => {
    fc.assert(
      fc.property(authority, fc.uniqueArray(authority, { selector: (each) => each.account }), (by, memberships) => {
        const only = memberships.length === 1 && memberships[0]?.account === by.account;
        assert.equal(mayReset(by, memberships), by.role === 'operator' || (by.role === 'owner' && only));
      }),
    );
  });
});
