import assert from 'node:assert/strict';
import type { Role } from '../../console/people/roles.ts';
import type { Definition } from '../../console/wire/definition.ts';
import type { Environment } from '../../src/kernel/environment.ts';
import type { Answer, House } from '../house.ts';
import { newPerson, type PersonClient } from './client.ts';

/** Somebody at work in one account and environment, and how the answers are judged. */
export interface Desk {
  readonly person: PersonClient;
  readonly account: string;
  /** `params`: those of the path beside account and environment. */
  call(definition: Definition, asked?: Asked): Promise<Answer>;
}

interface Asked {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export async function newDesk(
  house: House,
  account: string,
  { role = 'owner', environment = 'sandbox' }: { role?: Role; environment?: Environment } = {},
): Promise<Desk> {
  const person = await newPerson(house, account, role);
  const call: Desk['call'] = (definition, { params = {}, ...asked } = {}) =>
    person.call(definition, { ...asked, params: { account, environment, ...params } });
  return { person, account, call };
}

/** The data of an answer that must be a success. */
// biome-ignore lint/suspicious/noExplicitAny: data of every shape
export function given(answer: Answer): any {
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

/** A change that waited for nobody. */
export function carried(answer: Answer): ReturnType<typeof given> {
  const { approval, result } = given(answer);
  assert.equal(approval, null);
  return result;
}

/** A refusal that says which field is at fault, if one is, and does not repeat what was sent there. */
export function assertRefused(answer: Answer, code: string, field?: string, sent?: string): void {
  assert.equal(answer.json?.code, code, answer.text);
  assert.equal(answer.json.field, field, answer.text);
  if (sent !== undefined) assert.ok(!answer.text.includes(sent), answer.text);
}

/** What nobody may tell apart: a record that is not there, and one of somebody else. */
export function assertUnknown(...answers: readonly Answer[]): void {
  for (const answer of answers) {
    assert.equal(answer.status, 404, answer.text);
    assert.deepEqual(answer.json, { code: 'unknown_record', message: 'There is no such record.' });
  }
}
