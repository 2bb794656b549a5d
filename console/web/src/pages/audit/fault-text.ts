import { useTranslation } from 'react-i18next';
import { faultIn, placeIn } from '../../text/refusals.ts';

type Say = (key: string, values: Readonly<Record<string, string>>) => string;

/** Returns what is wrong with the log in the user's language; unknown faults keep the text of the service. */
export function useFaultText(): (fault: string) => string {
  const { t } = useTranslation('audit');
  // The type of `t` cannot know the values of a pattern.
  const say = t as unknown as Say;
  const placeText = (place: string): string => {
    const found = placeIn(place);
    return found === undefined ? place : say(`places.${found.key}`, found.values);
  };
  return (fault) => {
    const found = faultIn(fault);
    if (found === undefined) return fault;
    const { place, ...values } = found.values;
    return say(`faults.${found.key}`, place === undefined ? values : { ...values, place: placeText(place) });
  };
}
