import type { AdditionalInfo } from '../../captures/capture.ts';

/** A request cannot contain this key, so it never hides one of the caller's. */
export const withPanIndex = (info: AdditionalInfo, panIndex: string | undefined): AdditionalInfo =>
  panIndex === undefined ? info : { ...info, pan_index: panIndex };

export const ADDITIONAL_INFO =
  'The fields given at creation, and pan_index when there is a card number: equal for equal card numbers of the account';
