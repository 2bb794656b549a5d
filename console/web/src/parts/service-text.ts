import { useTranslation } from 'react-i18next';
import { expectedIn, refusalIn } from '../text/refusals.ts';

type Say = (key: string, values: Readonly<Record<string, string>>) => string;

interface ServiceText {
  /** Returns why a request was rejected; undefined when it is not known here. */
  refusal(message: string): string | undefined;
  /** Returns what a setting accepts; unknown texts stay as they are. */
  expected(text: string): string;
}

/** Translates texts of the service. */
export function useServiceText(): ServiceText {
  const { t } = useTranslation('refusals');
  // The type of `t` cannot know the values of a pattern.
  const say = t as unknown as Say;
  const expected = (text: string): string => {
    const found = expectedIn(text);
    return found === undefined ? text : say(`expected.${found.key}`, found.values);
  };
  return {
    expected,
    refusal: (message) => {
      const found = refusalIn(message);
      if (found === undefined) return undefined;
      const { expected: inner, ...values } = found.values;
      return say(`text.${found.key}`, inner === undefined ? values : { ...values, expected: expected(inner) });
    },
  };
}
