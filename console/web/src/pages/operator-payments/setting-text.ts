import { useTranslation } from 'react-i18next';
import { useServiceText } from '../../parts/service-text.ts';

interface Setting {
  readonly name: string;
  readonly about: string;
  readonly expected: string;
  readonly is_secret: boolean;
}

const CHOICES = /^one of (.+)$/;

/** Parses the values that a setting accepts from the service's description. */
export const choicesIn = (expected: string): readonly string[] => CHOICES.exec(expected)?.[1]?.split(', ') ?? [];

/** Returns texts for the settings of a processor; unknown ones keep the text of the service. */
export function useSettingText(processor: string) {
  const { t, i18n } = useTranslation(['processors', 'operator']);
  const { expected: expectedText } = useServiceText();
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
