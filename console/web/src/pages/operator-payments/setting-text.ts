import { useTranslation } from 'react-i18next';
import type { Explanation } from '../../../../../src/kernel/reasons.ts';
import { useReasonText } from '../../parts/reason-text.ts';
import { isLanguage, type Language } from '../../text/index.ts';

interface Setting {
  readonly name: string;
  readonly description: Readonly<Record<Language, string>>;
  readonly expected: Explanation;
  readonly is_secret: boolean;
}

/** Returns the values that a setting accepts; none when it is free text. */
export const choicesIn = ({ reason, values }: Explanation): readonly string[] =>
  reason === 'valueChoice' ? String(values['words']).split(', ') : [];

/** Returns texts for the settings of a processor, which brings their descriptions in each language. */
export function useSettingText() {
  const { t, i18n } = useTranslation('operator');
  const expectedText = useReasonText();
  const descriptionText = ({ description }: Setting): string =>
    description[isLanguage(i18n.language) ? i18n.language : 'en'];
  return {
    descriptionText,
    expectedText: ({ expected }: Setting) => expectedText(expected),
    /** Returns the help text below a field; choices are listed by the field itself. */
    helpText: (setting: Setting): string =>
      choicesIn(setting.expected).length > 0 || setting.is_secret
        ? descriptionText(setting)
        : `${descriptionText(setting)}. ${t('enable.expected', { expected: expectedText(setting.expected) })}`,
  };
}
