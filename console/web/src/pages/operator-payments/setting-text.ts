import { useTranslation } from 'react-i18next';
import type { Explanation } from '../../../../../src/kernel/reasons.ts';
import { useReasonText } from '../../parts/reason-text.ts';

interface Setting {
  readonly name: string;
  readonly about: string;
  readonly expected: Explanation;
  readonly is_secret: boolean;
}

/** Returns the values that a setting accepts; none when it is free text. */
export const choicesIn = ({ reason, values }: Explanation): readonly string[] =>
  reason === 'valueChoice' ? String(values['words']).split(', ') : [];

/** Returns texts for the settings of a processor; unknown ones keep the text of the service. */
export function useSettingText(processor: string) {
  const { t, i18n } = useTranslation(['processors', 'operator']);
  const expectedText = useReasonText();
  const aboutText = ({ name, about }: Setting): string => {
    const key = [`about.${processor}.${name}`, `about.common.${name}`].find((each) =>
      i18n.exists(`processors:${each}`),
    );
    return key === undefined ? about : t(key as 'about.common.timeout-ms');
  };
  return {
    aboutText,
    expectedText: ({ expected }: Setting) => expectedText(expected),
    /** Returns the help text below a field; choices are listed by the field itself. */
    helpText: (setting: Setting): string =>
      choicesIn(setting.expected).length > 0 || setting.is_secret
        ? aboutText(setting)
        : `${aboutText(setting)}. ${t('operator:enable.expected', { expected: expectedText(setting.expected) })}`,
  };
}
