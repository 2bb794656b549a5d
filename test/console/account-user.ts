import assert from 'node:assert/strict';
import type { Role } from '../../console/people/roles.ts';
import type { Definition } from '../../console/wire/definition.ts';
import type { Environment } from '../../src/kernel/environment.ts';
import type { TestResponse, TestService } from '../fixtures/test-service.ts';
import { newPerson, type UserClient } from './console-client.ts';

/** A user in one account and environment, and checks of the responses. */
export interface AccountUser {
  readonly person: UserClient;
  readonly account: string;
  /** `params`: those of the path beside account and environment. */
  call(definition: Definition, input?: CallInput): Promise<TestResponse>;
}

interface CallInput {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export async function newAccountUser(
  service: TestService,
  account: string,
  { role = 'owner', environment = 'sandbox' }: { role?: Role; environment?: Environment } = {},
): Promise<AccountUser> {
  const person = await newPerson(service, account, role);
  const call: AccountUser['call'] = (definition, { params = {}, ...input } = {}) =>
    person.call(definition, { ...input, params: { account, environment, ...params } });
  return { person, account, call };
}

/** The data of an answer that must be a success. */
// biome-ignore lint/suspicious/noExplicitAny: data of every shape
export function successData(response: TestResponse): any {
  assert.equal(response.status, 200, response.text);
  return response.json;
}

/** A change that awaited no approval. */
export function executedResult(response: TestResponse): ReturnType<typeof successData> {
  const { approval, result } = successData(response);
  assert.equal(approval, null);
  return result;
}

/** A refusal that says which field is at fault, if one is, and does not repeat what was sent there. */
export function assertRefused(response: TestResponse, code: string, field?: string, sent?: string): void {
  assert.equal(response.json?.code, code, response.text);
  assert.equal(response.json.field, field, response.text);
  if (sent !== undefined) assert.ok(!response.text.includes(sent), response.text);
}

/** Cases with indistinguishable responses: a record that does not exist, and one of another account. */
export function assertUnknown(...responses: readonly TestResponse[]): void {
  for (const response of responses) {
    assert.equal(response.status, 404, response.text);
    assert.deepEqual(response.json, { code: 'unknown_record', message: 'There is no such record.' });
  }
}
