import { useTranslation } from 'react-i18next';
import { useServiceText } from '../../parts/service-text.ts';

interface Setting {
  readonly name: string;
  readonly about: string;
  readonly expected: string;
  readonly is_secret: boolean;
}

const CHOICES = /^one of (.+)$/;

/** The words that a setting of a processor can be, as its text of what is expected lists them. */
export const choicesIn = (expected: string): readonly string[] => CHOICES.exec(expected)?.[1]?.split(', ') ?? [];

/** What settings of a processor decide and can be, in the person's words; in those of the service for what is not known here. */
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
    /** Below a field, which lists its choices itself. */
    helpText: (setting: Setting): string =>
      choicesIn(setting.expected).length > 0 || setting.is_secret
        ? aboutText(setting)
        : `${aboutText(setting)}. ${t('operator:enable.expected', { expected: expectedText(setting.expected) })}`,
  };
}
