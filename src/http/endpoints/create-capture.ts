import type { NewCapture } from '../../captures/captures.ts';
import { locateMembers } from '../../kernel/json.ts';
import { LIMITS } from '../../kernel/limits.ts';
import { passesLuhn } from '../../kernel/pan.ts';
import { explain } from '../../kernel/reasons.ts';
import { cardNumber, currency, expiry, track2, verificationCode } from '../card-fields.ts';
import { defineEndpoint } from '../endpoint.ts';
import { anyObject, FieldMismatch, integer, object, optional, output, plainText, type ValueOf } from '../fields.ts';

const ttl = integer({ min: 1, max: LIMITS.captureTtlMinutes }, 'Minutes until the capture ends');

const body = object({
  chd: object(
    {
      card: optional(cardNumber),
      name: optional(plainText(LIMITS.nameCharacters, 'Cardholder name')),
      exp: optional(expiry),
      cvv: optional(verificationCode),
      track_2: optional(track2),
    },
    'Card data; at least one of card, cvv and track_2',
  ),
  amount: integer({ min: 0, max: LIMITS.amount }, 'Amount to capture; 0 when nothing needs capturing'),
  currency,
  additional_info: anyObject('Any further fields; may be empty'),
  ttl: optional(ttl),
  TTL: optional(ttl),
});

type Body = ValueOf<typeof body>;

function toCard({ chd }: Body): Pick<NewCapture, 'pan' | 'name' | 'expiry' | 'sad'> {
  const { card, name, exp, cvv, track_2: track } = chd;
  if (card === undefined && cvv === undefined && track === undefined) {
    throw new FieldMismatch(explain('cardDataRequired'), 'chd');
  }
  if (card !== undefined && track !== undefined && card !== track.pan)
    throw new FieldMismatch(explain('contradicts', { field: 'track_2' }), 'chd.card');
  const pan = card ?? track?.pan;
  if (pan !== undefined && !passesLuhn(pan)) {
    throw new FieldMismatch(explain('luhn'), card === undefined ? 'chd.track_2' : 'chd.card');
  }
  return { pan, name, expiry: exp ?? track?.expiry, sad: { cvv, track2: track?.data } };
}

function toTtl({ ttl: lower, TTL: upper }: Body): number {
  if (lower !== undefined && upper !== undefined && lower !== upper)
    throw new FieldMismatch(explain('contradicts', { field: 'TTL' }), 'ttl');
  const minutes = lower ?? upper;
  if (minutes === undefined) throw new FieldMismatch(explain('required'), 'ttl');
  return minutes;
}

/** `text`: the whole body. Throws `FieldMismatch`. */
export function toAdditionalInfo(text: string, info: Body['additional_info']): Body['additional_info'] {
  const max = LIMITS.additionalInfoBytes;
  // A body within the limit has no longer member.
  if (Buffer.byteLength(text) > max && byteLengthOf(text, 'additional_info') > max)
    throw new FieldMismatch(explain('bytesUpTo', { max }), 'additional_info');
  if (Object.hasOwn(info, 'pan_index'))
    throw new FieldMismatch(explain('keyReserved', { name: 'pan_index' }), 'additional_info');
  return info;
}

/** Returns the length of a member of the outermost object, as it was written. */
function byteLengthOf(text: string, name: string): number {
  const [start, end] = locateMembers(text).get(name) ?? [0, 0];
  return Buffer.byteLength(text.slice(start, end));
}

/** POST /transactions/requests (interface: Transactions). */
export const createCapture = defineEndpoint({
  method: 'POST',
  path: '/transactions/requests',
  family: 'vault',
  tag: 'Captures',
  operationId: 'createCapture',
  permission: 'captures:create',
  summary: 'Create a capture',
  description:
    'Keeps card data, amount and further fields for ttl minutes and returns an id that holds no sensitive data. The key of the ttl may be written ttl or TTL.',
  body,
  data: object({ id: output.text('Id of the capture, a UUID') }),
  failures: [],
  example: {
    body: {
      chd: { card: '4111111111111111', name: 'Ana Lopez', exp: '12/29', cvv: '123' },
      amount: 12500,
      currency: 'USD',
      additional_info: { order: 'A-1001' },
      ttl: 1440,
    },
    data: { id: '0f4e2c9a-5d1b-4b7e-9c3a-8a1d2e3f4b5c' },
  },
  async run(call) {
    const request = {
      ...toCard(call.body),
      amount: call.body.amount,
      currency: call.body.currency,
      additionalInfo: toAdditionalInfo(call.text, call.body.additional_info),
      ttlMinutes: toTtl(call.body),
    };
    return { id: await call.services.captures.create(call.transaction, call.tenant, request) };
  },
});
