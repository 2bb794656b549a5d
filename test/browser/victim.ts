import { newPerson, type UserClient } from '../console/console-client.ts';
import type { TestService } from '../fixtures/test-service.ts';
import { newMerchant } from '../interface/payment-requests.ts';
import { CAPTURES, capture, dataOf, TOKENIZE, tokensIn, VISA } from '../interface/vault-requests.ts';
import { openSession } from './seed-data.ts';

/** Stands in every record of the victim. */
export const MARK = 'marked-as-hers';

/** A member of an account with records, and a member of another account. */
export interface Victim {
  readonly account: string;
  readonly vera: UserClient;
  /** Records of the sandbox. */
  readonly ids: Readonly<Record<'key' | 'token' | 'capture' | 'session' | 'payment', string>>;
  /** Owns another account. */
  readonly mallory: UserClient;
  readonly mallorys: string;
}

export async function newVictim(service: TestService): Promise<Victim> {
  const merchant = await newMerchant(service);
  const { account } = merchant;
  const chd = [{ card: VISA, name: MARK, exp: '12/29' }];
  const [token = ''] = tokensIn(await merchant.send('POST', TOKENIZE, { chd, tags: [MARK], scheme: 1 }));
  const created = dataOf(await merchant.send('POST', CAPTURES, capture({ additional_info: { MARK } })));
  const session = await openSession((path, body) => merchant.send('POST', path, body), MARK);
  const payment = await merchant.opened('payment', { reference: MARK });
  const { id: key } = await service.newKey(account, { name: MARK });
  const vera = await newPerson(service, account, 'owner', `Vera ${MARK}`);
  const mallorys = await service.newAccount('Weeds');
  const mallory = await newPerson(service, mallorys, 'owner', 'Mallory');
  return { account, vera, ids: { key, token, capture: created.id, session, payment }, mallory, mallorys };
}
