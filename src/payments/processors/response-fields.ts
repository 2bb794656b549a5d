import { isJsonObject, type Json } from '../../kernel/json.ts';
import { containsPan } from '../../kernel/pan.ts';

/** Reads members of responses, whose content is untrusted. Pure. */

/** Returns the value at a path like `a.b`; undefined when there is none. */
export function valueAt(body: Json | undefined, path: string): Json | undefined {
  let value = body;
  for (const name of path.split('.'))
    value = isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return value;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * True for an id or code that may be stored and shown: none that looks like a card number. UUIDs are exempt, because a few of
 * them do by chance, and a transaction is useless without its id.
 */
export const isStorable = (text: string): boolean => UUID.test(text) || !containsPan(text);
