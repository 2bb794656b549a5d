import { Stack, Text, Title } from '@mantine/core';
import { BadgeCheck, ScrollText, Split } from 'lucide-react';
import { type ReactNode, useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { Logo } from './logo.tsx';
import { SignedOutMenu } from './signed-out-menu.tsx';
import classes from './two-columns.module.css';

interface TwoColumnsProps {
  readonly title: string;
  readonly hint?: ReactNode;
  readonly children: ReactNode;
}

/** Layout before sign-in: the form on one side, the product on the other. */
export function TwoColumns({ title, hint, children }: TwoColumnsProps) {
  useEffect(() => {
    document.title = `${title} · cardvault`;
  }, [title]);
  return (
    <div className={classes['page']}>
      <div className={classes['work']}>
        <header className={classes['head']}>
          <Logo />
          <SignedOutMenu />
        </header>
        <main className={classes['main']}>
          <Stack gap="xl" w="100%" maw={420}>
            <Stack gap={6}>
              <Title order={1} size="1.75rem">
                {title}
              </Title>
              {hint !== undefined && (
                <Text component="div" c="dimmed">
                  {hint}
                </Text>
              )}
            </Stack>
            {children}
          </Stack>
        </main>
      </div>
      <Statement />
    </div>
  );
}

const POINTS = [
  { text: 'point1', Icon: BadgeCheck },
  { text: 'point2', Icon: ScrollText },
  { text: 'point3', Icon: Split },
] as const;

function Statement() {
  const { t } = useTranslation('signIn');
  return (
    <aside className={classes['statement']} aria-label="cardvault">
      <Cards />
      <div className={classes['words']}>
        <p className={classes['promise']}>{t('promise')}</p>
        <p className={classes['text']}>{t('promiseText')}</p>
        <ul className={classes['points']}>
          {POINTS.map(({ text, Icon }) => (
            <li key={text}>
              <Icon size={17} strokeWidth={1.75} aria-hidden />
              {t(text)}
            </li>
          ))}
        </ul>
      </div>
    </aside>
  );
}

/** Illustration of cards in the vault. */
function Cards() {
  return (
    <svg viewBox="0 0 420 250" className={classes['cards']} aria-hidden="true" focusable="false">
      <rect x="96" y="14" width="228" height="140" rx="14" className={classes['far']} />
      <rect x="78" y="38" width="264" height="150" rx="15" className={classes['middle']} />
      <rect x="60" y="66" width="300" height="166" rx="16" className={classes['near']} />
      <rect x="84" y="94" width="38" height="28" rx="6" className={classes['chip']} />
      <text x="84" y="172" className={classes['digits']}>
        4111 11•• •••• 1111
      </text>
      <rect x="84" y="196" width="96" height="8" rx="4" className={classes['line']} />
      <rect x="296" y="196" width="40" height="8" rx="4" className={classes['line']} />
    </svg>
  );
}
