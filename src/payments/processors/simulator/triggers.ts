import { RULES } from './rules.ts';

/**
 * The trigger words of an email address: those that decide about a payment (`rules.ts`), and those that cause faults
 * later. Closed tables: what is stored, what is parsed and what is documented derive from them. Pure.
 */

/** Faults of a capture, refund or void. */
export const FAULTS = {
  timeout: 'executed, but no response is sent',
  lost: 'not executed, and no response is sent',
  decline: 'Declined / Rejected',
  error: 'ProcessorError / Undefined',
  unsent: 'the connection is refused: certainly not sent',
} as const;
export type Fault = keyof typeof FAULTS;

export const MODIFICATIONS = ['capture', 'refund', 'void'] as const;
export type Modification = (typeof MODIFICATIONS)[number];

/** Recovery's requests for operations whose outcome is unknown; their only fault is a missing response. */
export const INQUIRIES = ['inquiry', 'reversal'] as const;
export type Inquiry = (typeof INQUIRIES)[number];

/** Without this suffix, a fault applies to the first request of its kind only, so that recovery can complete. */
const ALWAYS = '_always';

export const NOTIFICATION_TRIGGERS = {
  duplicate_notification: 'the notification of a late change is sent twice',
  late_notification: 'the notification of a late change is sent 20 s after the change',
} as const;

/** Delays are followed by `_` and milliseconds. */
export const DELAYS = {
  delay: 'the authorization is executed immediately, and the response is delayed',
  arrival: 'the authorization arrives and is executed after the delay, also after the caller has stopped waiting',
} as const;

export const MAX_DELAY_MS = 10_000;

const FAULT_TRIGGERS = [
  ...MODIFICATIONS.flatMap((modification) => Object.keys(FAULTS).map((fault) => `${modification}_${fault}`)),
  ...INQUIRIES.map((inquiry) => `${inquiry}_timeout`),
].flatMap((trigger) => [trigger, `${trigger}${ALWAYS}`]);

const STORED_TRIGGERS = [...FAULT_TRIGGERS, ...Object.keys(NOTIFICATION_TRIGGERS)];

const BEHAVIOR_TRIGGERS: readonly string[] = [
  ...STORED_TRIGGERS,
  // These are patterns: up to four digits are below the maximum.
  ...Object.keys(DELAYS).map((delay) => `${delay}_(?:[0-9]{1,4}|${MAX_DELAY_MS})`),
];

/** It ends in acceptance. It is listed so that no shorter trigger is found inside it. */
const ACCEPTING_TRIGGERS = ['auto_inprogress_3ds2_autoaccept'];

const DECIDING_TRIGGERS = RULES.flatMap(({ when }) => (when.by === 'triggers' ? when.triggers : []));

// The longest first: a trigger may contain others.
const ALL_TRIGGERS = [...ACCEPTING_TRIGGERS, ...DECIDING_TRIGGERS, ...BEHAVIOR_TRIGGERS].sort(
  (a, b) => b.length - a.length,
);

const TRIGGER = new RegExp(`(?<=[_+])(?:${ALL_TRIGGERS.join('|')})(?=[_+]|$)`, 'g');

/**
 * Returns the trigger words in an email address, in lower case. Each follows `_` or `+` in the local part, and ends
 * with the local part or before another of these. Other words have no meaning.
 */
export function parseTriggers(email: string | undefined): readonly string[] {
  if (email === undefined) return [];
  const at = email.lastIndexOf('@');
  const local = at < 0 ? email : email.slice(0, at);
  return local.toLowerCase().match(TRIGGER) ?? [];
}

/** Returns the triggers that are stored with the payment, in the order of the email address. */
export const storedTriggers = (triggers: readonly string[]): string[] =>
  triggers.filter((trigger) => STORED_TRIGGERS.includes(trigger));

/** Milliseconds; 0 without a delay. */
export function delayMs(triggers: readonly string[], delay: keyof typeof DELAYS): number {
  const found = triggers.find((trigger) => trigger.startsWith(`${delay}_`));
  return found === undefined ? 0 : Number(found.slice(delay.length + 1));
}

/** Returns the fault of the next request of this kind, and the triggers that remain stored after it. */
export function nextFault(
  triggers: readonly string[],
  kind: Modification | Inquiry,
): { readonly fault: Fault | undefined; readonly triggers: readonly string[] } {
  const at = triggers.findIndex((each) => each.startsWith(`${kind}_`));
  const trigger = triggers[at];
  if (trigger === undefined) return { fault: undefined, triggers };
  const fault = trigger.split('_')[1] as Fault;
  return { fault, triggers: trigger.endsWith(ALWAYS) ? triggers : triggers.toSpliced(at, 1) };
}
