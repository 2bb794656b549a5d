import type { Write } from '../../src/storage/database.ts';
import { type PersonMail, queuePersonMail } from '../alerts/person-mail-store.ts';
import type { Profile } from '../people/people.ts';
import type { ConsoleServices } from './route.ts';

/** A mail that tells a user of a change of their own sign-in, which another person may have made. */
type Notice = Exclude<PersonMail['kind'], 'email-code'>;

/**
 * Returns the write that queues a notice; none where no server is configured, and none to an address that was never
 * confirmed, because it may be another user's.
 */
export async function buildNotice(
  services: ConsoleServices,
  { id, email, language, isEmailUnconfirmed }: Profile,
  kind: Notice,
  now: number,
): Promise<readonly Write[]> {
  if (!services.serviceInfo.sendsMails || isEmailUnconfirmed === true) return [];
  return [await queuePersonMail(services, id, { kind, to: email, language }, now)];
}
