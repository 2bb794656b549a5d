import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { CAPABILITIES } from '../../console/people/roles.ts';
import { routes } from '../../console/server/routes.ts';
import type { Definition } from '../../console/wire/definition.ts';
import { revokeKey } from '../../console/wire/keys.ts';
import { editProfile } from '../../console/wire/profile.ts';
import { inviteOwner, removeFromTeam, withdrawInvitation } from '../../console/wire/team.ts';
import { type House, startHouse } from '../house.ts';
import { newPerson, type PersonClient } from './client.ts';
import { given } from './desk.ts';

/** What people of a suspended account can do, line by line of the interface. */

const OPERATOR = { actor: { type: 'operator' } } as const;
/** Of those that are no GET: they look something up, or take access away. */
const GOES_ON = [
  'DELETE /api/accounts/:account/activation-requests/:id',
  'DELETE /api/accounts/:account/approvals/:id',
  'DELETE /api/accounts/:account/team/:person',
  'DELETE /api/accounts/:account/team/invitations/:id',
  'POST /api/accounts/:account/:environment/keys/:id/revoke',
  'POST /api/accounts/:account/:environment/payments/search',
  'POST /api/accounts/:account/:environment/tokens/search',
  'POST /api/accounts/:account/approvals/:id/decline',
  'POST /api/accounts/:account/audit/search',
  'POST /api/accounts/:account/audit/verify',
];

const lineOf = ({ method, path }: Definition): string => `${method} ${path}`;
const definitions = routes.map(({ definition }) => definition);
const inAccount = definitions.filter(
  ({ access }) => access !== 'operate' && (CAPABILITIES as readonly string[]).includes(access),
);
const mayGoOn = (definition: Definition): boolean =>
  definition.method === 'GET' || GOES_ON.includes(lineOf(definition));

let house: House;
let account: string;
let owner: PersonClient;
let operator: PersonClient;
before(async () => {
  house = await startHouse();
  account = await house.newAccount();
  owner = await newPerson(house, account, 'owner');
  operator = await newPerson(house, '', 'operator');
});
after(() => house.stop());

const isRefused = async (definition: Definition, params: object = {}): Promise<boolean> => {
  const answer = await owner.call(definition, { params: { account, environment: 'sandbox', ...params } });
  const { code, message } = answer.json ?? {};
  return code === 'not_possible' && message === 'The account is suspended.';
};

describe('the people of a suspended account', () => {
  test('look at everything and take access away, and do nothing else', async () => {
    await house.core.accounts.suspend(account, OPERATOR);
    for (const definition of inAccount)
      assert.equal(await isRefused(definition), !mayGoOn(definition), lineOf(definition));
    await house.core.accounts.resume(account, OPERATOR);
    for (const definition of inAccount) assert.equal(await isRefused(definition), false, lineOf(definition));
  });

  test('are told so before they have to show anything', async () => {
    await house.core.accounts.suspend(account, OPERATOR);
    house.advance(6 * 60_000);
    for (const definition of inAccount.filter((each) => each.stepUp === true && !mayGoOn(each)))
      assert.equal(await isRefused(definition), true, lineOf(definition));
    await owner.stepUp();
    await house.core.accounts.resume(account, OPERATOR);
  });

  test('revoke keys, withdraw invitations and remove people, also where production takes two', async () => {
    const other = await newPerson(house, account, 'developer');
    const key = await house.newKey(account, { environment: 'production' });
    const to = { account, role: 'auditor', email: 'link@example.com' } as const;
    const link = await house.core.people.invitations.invite(to, { account, role: 'owner' }, OPERATOR);
    await house.core.accounts.setDualControl(account, true, OPERATOR);
    await house.core.accounts.suspend(account, OPERATOR);
    const production = { account, environment: 'production', id: key.id };
    assert.equal(given(await owner.call(revokeKey, { params: production })).key.state, 'revoked');
    given(await owner.call(withdrawInvitation, { params: { account, id: link.id } }));
    given(await owner.call(removeFromTeam, { params: { account, person: other.id } }));
  });

  test('do what concerns themselves, and operators do what they may', async () => {
    given(await owner.call(editProfile, { body: { name: 'Ana' } }));
    await operator.stepUp();
    const body = { email: 'owner.two@example.com' };
    given(await operator.call(inviteOwner, { params: { id: account }, body }));
  });
});
