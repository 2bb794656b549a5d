import { RULES } from './rules.ts';

/**
 * The words of an e-mail: those that decide about a payment (`outcomes.ts`), and those that make it behave badly later.
 * Closed tables: what is remembered, what is read and what is documented derive from them. Pure.
 */

/** What can go wrong with a capture, refund or void. */
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

/** What is done about operations whose outcome is unknown; its one fault is to get no answer. */
export const INQUIRIES = ['inquiry', 'reversal'] as const;
export type Inquiry = (typeof INQUIRIES)[number];

/** Without it a fault meets the first request of its kind only, so that recovery comes to an end. */
const ALWAYS = '_always';

export const NOTIFICATION_TRIGGERS = {
  duplicate_notification: 'the notification of a late change is sent twice',
  late_notification: 'the notification of a late change is sent 20 s after the change',
} as const;

/** Followed by `_` and milliseconds. */
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
  // As patterns: up to four digits are below the maximum.
  ...Object.keys(DELAYS).map((delay) => `${delay}_(?:[0-9]{1,4}|${MAX_DELAY_MS})`),
];

/** Ends in acceptance; known so that no shorter word is read out of it. */
const ACCEPTING_TRIGGERS = ['auto_inprogress_3ds2_autoaccept'];

const DECIDING_TRIGGERS = RULES.flatMap(({ when }) => (when.by === 'triggers' ? when.triggers : []));

// The longest first: a word may contain others.
const ALL_TRIGGERS = [...ACCEPTING_TRIGGERS, ...DECIDING_TRIGGERS, ...BEHAVIOR_TRIGGERS].sort(
  (a, b) => b.length - a.length,
);

const TRIGGER = new RegExp(`(?<=[_+])(?:${ALL_TRIGGERS.join('|')})(?=[_+]|$)`, 'g');

/**
 * The simulator's words in an e-mail address, in lower case: each stands in the local part after `_` or `+`, and ends
 * with the local part or before another of these. Other words mean nothing.
 */
export function parseTriggers(email: string | undefined): readonly string[] {
  if (email === undefined) return [];
  const at = email.lastIndexOf('@');
  const local = at < 0 ? email : email.slice(0, at);
  return local.toLowerCase().match(TRIGGER) ?? [];
}

/** Those that the books keep with the payment, in the order of the e-mail. */
export const storedTriggers = (triggers: readonly string[]): string[] =>
  triggers.filter((trigger) => STORED_TRIGGERS.includes(trigger));

/** Milliseconds; 0 without such a word. */
export function delayMs(triggers: readonly string[], delay: keyof typeof DELAYS): number {
  const found = triggers.find((trigger) => trigger.startsWith(`${delay}_`));
  return found === undefined ? 0 : Number(found.slice(delay.length + 1));
}

/** The fault that the next request of this kind meets, and what is remembered after it. */
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
