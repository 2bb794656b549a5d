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
  call(definition: Definition, asked?: CallInput): Promise<TestResponse>;
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
  const call: AccountUser['call'] = (definition, { params = {}, ...asked } = {}) =>
    person.call(definition, { ...asked, params: { account, environment, ...params } });
  return { person, account, call };
}

/** The data of an answer that must be a success. */
// biome-ignore lint/suspicious/noExplicitAny: data of every shape
export function successData(answer: TestResponse): any {
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

/** A change that awaited no approval. */
export function executedResult(answer: TestResponse): ReturnType<typeof successData> {
  const { approval, result } = successData(answer);
  assert.equal(approval, null);
  return result;
}

/** A refusal that says which field is at fault, if one is, and does not repeat what was sent there. */
export function assertRefused(answer: TestResponse, code: string, field?: string, sent?: string): void {
  assert.equal(answer.json?.code, code, answer.text);
  assert.equal(answer.json.field, field, answer.text);
  if (sent !== undefined) assert.ok(!answer.text.includes(sent), answer.text);
}

/** Cases with indistinguishable responses: a record that does not exist, and one of another account. */
export function assertUnknown(...answers: readonly TestResponse[]): void {
  for (const answer of answers) {
    assert.equal(answer.status, 404, answer.text);
    assert.deepEqual(answer.json, { code: 'unknown_record', message: 'There is no such record.' });
  }
}
