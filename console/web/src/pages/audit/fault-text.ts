import { useTranslation } from 'react-i18next';
import { faultIn, placeIn } from '../../text/refusals.ts';

type Say = (key: string, values: Readonly<Record<string, string>>) => string;

/** What is wrong with the log, in the person's words; in those of the service when it is not known here. */
export function useFaultText(): (fault: string) => string {
  const { t } = useTranslation('audit');
  // The values that a text takes are those of its pattern, which its type cannot tell.
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
