import { ActionIcon, Group, useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { Moon, Sun } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { LANGUAGES } from '../../../wire/session.ts';
import { setLanguage } from '../text/index.ts';
import { LANGUAGE_NAMES } from '../text/language-names.ts';
import classes from './signed-out-menu.module.css';

/** Language and color scheme before sign-in. */
export function SignedOutMenu() {
  const { t, i18n } = useTranslation();
  const { setColorScheme } = useMantineColorScheme();
  const other = useComputedColorScheme('light') === 'light' ? 'dark' : 'light';
  const Icon = other === 'dark' ? Moon : Sun;
  return (
    <Group gap="sm">
      <Group gap={2} role="group" aria-label={t('language')}>
        {LANGUAGES.map((language) => (
          <button
            key={language}
            type="button"
            lang={language}
            className={classes['language']}
            aria-pressed={i18n.language === language}
            // The accessible name begins with the visible text, for speech input.
            aria-label={`${language.toUpperCase()}, ${LANGUAGE_NAMES[language]}`}
            onClick={() => void setLanguage(language)}
          >
            {language.toUpperCase()}
          </button>
        ))}
      </Group>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={`${t('colourScheme')}: ${t(other)}`}
        onClick={() => setColorScheme(other)}
      >
        <Icon size={17} aria-hidden />
      </ActionIcon>
    </Group>
  );
}
