import { Avatar, type MantineColorScheme, Menu, Text, UnstyledButton, useMantineColorScheme } from '@mantine/core';
import { LogOut, UserRound } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { editProfile } from '../../../wire/profile.ts';
import { LANGUAGES } from '../../../wire/session.ts';
import { useChange } from '../api/hooks.ts';
import { DecorativeText } from '../parts/decorative-text.tsx';
import { useSession, useSessionControls } from '../session/session.tsx';
import { useSignOut } from '../session/sign-out.ts';
import { isLanguage } from '../text/index.ts';
import { LANGUAGE_NAMES } from '../text/language-names.ts';
import classes from './person-menu.module.css';

const getInitials = (name: string): string =>
  name
    .split(/\s+/)
    .map((word) => [...word][0] ?? '')
    .filter((letter) => letter !== '')
    .slice(0, 2)
    .join('')
    .toUpperCase();

export function PersonMenu() {
  const { t } = useTranslation();
  const { person } = useSession();
  const signOut = useSignOut();
  return (
    <Menu width={250} position="bottom-end" closeOnItemClick={false} withinPortal={false}>
      <Menu.Target>
        <UnstyledButton className={classes['button'] ?? ''} aria-label={t('personMenu', { name: person.name })}>
          <Avatar size={32} radius="xl" color="ink" aria-hidden>
            <DecorativeText text={getInitials(person.name)} />
          </Avatar>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <div className={classes['who']}>
          <Text size="sm" fw={600} className={classes['words'] ?? ''}>
            {person.name}
          </Text>
          <Text size="xs" c="dimmed" className={classes['words'] ?? ''}>
            {person.email}
          </Text>
        </div>
        <Menu.Divider />
        <Menu.Item component={Link} to="/profile" closeMenuOnClick leftSection={<UserRound size={16} aria-hidden />}>
          {t('profile')}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Label>{t('language')}</Menu.Label>
        <Languages />
        <Menu.Label>{t('colourScheme')}</Menu.Label>
        <ColorSchemes />
        <Menu.Divider />
        <Menu.Item leftSection={<LogOut size={16} aria-hidden />} closeMenuOnClick onClick={() => void signOut()}>
          {t('signOut')}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

function Languages() {
  const { i18n } = useTranslation();
  const { setSession } = useSessionControls();
  const edit = useChange(editProfile);
  return (
    <Menu.RadioGroup
      value={i18n.language}
      onChange={(language) => isLanguage(language) && edit.mutate({ body: { language } }, { onSuccess: setSession })}
    >
      {LANGUAGES.map((language) => (
        <Menu.RadioItem key={language} value={language} lang={language}>
          {LANGUAGE_NAMES[language]}
        </Menu.RadioItem>
      ))}
    </Menu.RadioGroup>
  );
}

const SCHEMES = [
  { name: 'auto', text: 'system' },
  { name: 'light', text: 'light' },
  { name: 'dark', text: 'dark' },
] as const;

function ColorSchemes() {
  const { t } = useTranslation();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Menu.RadioGroup value={colorScheme} onChange={(name) => setColorScheme(name as MantineColorScheme)}>
      {SCHEMES.map(({ name, text }) => (
        <Menu.RadioItem key={name} value={name}>
          {t(text)}
        </Menu.RadioItem>
      ))}
    </Menu.RadioGroup>
  );
}
