import type { showOnboarding } from '../../../../src/console/wire/onboarding.ts';
import type { ReadBy } from '../../../../src/http/fields.ts';

export type Onboarding = ReadBy<typeof showOnboarding.data>;
export type Step = Onboarding['steps'][number];
export type ActivationRequest = Onboarding['requests'][number];

/** The one thing to do now: the first step that waits for nobody else. */
export const nextStep = (steps: readonly Step[]): Step | undefined => steps.find(({ state }) => state === 'open');

export const doneCount = (steps: readonly Step[]): number => steps.filter(({ state }) => state === 'done').length;
