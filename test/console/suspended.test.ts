import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { CAPABILITIES } from '../../console/people/roles.ts';
import { routes } from '../../console/server/routes.ts';
import type { Definition } from '../../console/wire/definition.ts';
import { revokeKey } from '../../console/wire/keys.ts';
import { editProfile } from '../../console/wire/profile.ts';
import { inviteOwner, removeFromTeam, revokeInvitation } from '../../console/wire/team.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { successData } from './account-user.ts';
import { newPerson, type UserClient } from './console-client.ts';

/** The calls that a suspended account allows, for each definition of the interface. */

const OPERATOR = { actor: { type: 'operator' } } as const;
/** Allowed calls other than GET: they search, or revoke access. */
const GOES_ON = [
  'DELETE /api/accounts/:account/:environment/webhooks/:id',
  'DELETE /api/accounts/:account/activation-requests/:id',
  'DELETE /api/accounts/:account/approvals/:id',
  'DELETE /api/accounts/:account/team/:person',
  'DELETE /api/accounts/:account/team/invitations/:id',
  'POST /api/accounts/:account/:environment/captures/export',
  'POST /api/accounts/:account/:environment/captures/search',
  'POST /api/accounts/:account/:environment/keys/:id/revoke',
  'POST /api/accounts/:account/:environment/keys/search',
  'POST /api/accounts/:account/:environment/payments/export',
  'POST /api/accounts/:account/:environment/payments/search',
  'POST /api/accounts/:account/:environment/receipts',
  'POST /api/accounts/:account/:environment/requests/export',
  'POST /api/accounts/:account/:environment/requests/search',
  'POST /api/accounts/:account/:environment/tokens/export',
  'POST /api/accounts/:account/:environment/tokens/search',
  'POST /api/accounts/:account/approvals/:id/decline',
  'POST /api/accounts/:account/audit/records/export',
  'POST /api/accounts/:account/audit/search',
  'POST /api/accounts/:account/audit/verify',
];

const lineOf = ({ method, path }: Definition): string => `${method} ${path}`;
const definitions: readonly Definition[] = routes;
const inAccount = definitions.filter(
  ({ access }) => access !== 'operate' && (CAPABILITIES as readonly string[]).includes(access),
);
const mayGoOn = (definition: Definition): boolean =>
  definition.method === 'GET' || GOES_ON.includes(lineOf(definition));

let service: TestService;
let account: string;
let owner: UserClient;
let operator: UserClient;
before(async () => {
  service = await startTestService();
  account = await service.newAccount();
  owner = await newPerson(service, account, 'owner');
  operator = await newPerson(service, '', 'operator');
});
after(() => service.stop());

const isRefused = async (definition: Definition, params: object = {}): Promise<boolean> => {
  const response = await owner.call(definition, { params: { account, environment: 'sandbox', ...params } });
  const { code, message } = response.json ?? {};
  return code === 'not_possible' && message === 'The account is suspended.';
};

describe('users of a suspended account', () => {
  test('can read everything and remove access, and do nothing else', async () => {
    await service.core.transactions.run({ origin: OPERATOR }, (transaction) =>
      service.core.accounts.suspend(transaction, account),
    );
    for (const definition of inAccount)
      assert.equal(await isRefused(definition), !mayGoOn(definition), lineOf(definition));
    await service.core.transactions.run({ origin: OPERATOR }, (transaction) =>
      service.core.accounts.resume(transaction, account),
    );
    for (const definition of inAccount) assert.equal(await isRefused(definition), false, lineOf(definition));
  });

  test('get the reason before any other check', async () => {
    await service.core.transactions.run({ origin: OPERATOR }, (transaction) =>
      service.core.accounts.suspend(transaction, account),
    );
    service.advance(6 * 60_000);
    for (const definition of inAccount.filter((each) => each.stepUp === true && !mayGoOn(each)))
      assert.equal(await isRefused(definition), true, lineOf(definition));
    await owner.stepUp();
    await service.core.transactions.run({ origin: OPERATOR }, (transaction) =>
      service.core.accounts.resume(transaction, account),
    );
  });

  test('revoke keys, withdraw invitations and remove users, also under dual control', async () => {
    const other = await newPerson(service, account, 'developer');
    const key = await service.newKey(account, { environment: 'production' });
    const to = { account, role: 'auditor', email: 'link@example.com' } as const;
    const link = await service.core.transactions.run({ origin: OPERATOR }, (transaction) =>
      service.console.people.invitations.invite(transaction, to, { account, role: 'owner' }),
    );
    await service.core.transactions.run({ origin: OPERATOR }, (transaction) =>
      service.core.accounts.setDualControl(transaction, account, true),
    );
    await service.core.transactions.run({ origin: OPERATOR }, (transaction) =>
      service.core.accounts.suspend(transaction, account),
    );
    const production = { account, environment: 'production', id: key.id };
    assert.equal(successData(await owner.call(revokeKey, { params: production })).key.state, 'revoked');
    successData(await owner.call(revokeInvitation, { params: { account, id: link.id } }));
    successData(await owner.call(removeFromTeam, { params: { account, person: other.id } }));
  });

  test('can manage their own profile, and operators keep their rights', async () => {
    successData(await owner.call(editProfile, { body: { name: 'Ana' } }));
    await operator.stepUp();
    const body = { email: 'owner.two@example.com' };
    successData(await operator.call(inviteOwner, { params: { id: account }, body }));
  });
});
