import { newPerson, type PersonClient } from '../console/client.ts';
import { type House, startHouse } from '../house.ts';
import { newMerchant } from '../interface/payments.ts';
import { CAPTURES, capture, dataOf, TOKENIZE, tokensIn, VISA } from '../interface/vault.ts';

/** Stands in every record of the victim. */
export const MARK = 'marked-as-hers';

/** Somebody with records, and somebody who belongs to another account. */
export interface Victim {
  readonly house: House;
  readonly account: string;
  readonly vera: PersonClient;
  /** Of the sandbox. */
  readonly ids: Readonly<Record<'key' | 'token' | 'capture' | 'payment', string>>;
  /** Owns another account. */
  readonly mallory: PersonClient;
  readonly mallorys: string;
}

export async function startVictim(): Promise<Victim> {
  const house = await startHouse();
  const merchant = await newMerchant(house);
  const { account } = merchant;
  const chd = [{ card: VISA, name: MARK, exp: '12/29' }];
  const [token = ''] = tokensIn(await merchant.send('POST', TOKENIZE, { chd, tags: [MARK], scheme: 1 }));
  const made = dataOf(await merchant.send('POST', CAPTURES, capture({ additional_info: { MARK } })));
  const payment = await merchant.opened('payment', { reference: MARK });
  const { id: key } = await house.newKey(account, { name: MARK });
  const vera = await newPerson(house, account, 'owner', `Vera ${MARK}`);
  const mallorys = await house.newAccount('Weeds');
  const mallory = await newPerson(house, mallorys, 'owner', 'Mallory');
  return { house, account, vera, ids: { key, token, capture: made.id, payment }, mallory, mallorys };
}
