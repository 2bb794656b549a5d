import { useTranslation } from 'react-i18next';
import { expectedIn, refusalIn } from '../text/refusals.ts';

type Say = (key: string, values: Readonly<Record<string, string>>) => string;

interface ServiceText {
  /** Why something was refused; undefined: not known here. */
  refusal(message: string): string | undefined;
  /** What a setting can be; in the words of the service when it is not known here. */
  expected(text: string): string;
}

/** What the service tells in English, in the person's words. */
export function useServiceText(): ServiceText {
  const { t } = useTranslation('refusals');
  // The values that a text takes are those of its pattern, which its type cannot tell.
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
