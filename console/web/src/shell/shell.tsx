import { AppShell, Burger, Group, VisuallyHidden } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Suspense, useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, Outlet, useLocation } from 'react-router';
import { AccountSwitch } from './account-switch.tsx';
import { AlertBell } from './alert-bell.tsx';
import { Breadcrumbs } from './breadcrumbs.tsx';
import { EnvironmentBand } from './environment-band.tsx';
import { EnvironmentSwitch } from './environment-switch.tsx';
import { ErrorBoundary } from './error-boundary.tsx';
import { HelpLinks } from './help-links.tsx';
import { Logo } from './logo.tsx';
import { Navigation } from './navigation.tsx';
import { NavigationContext, useTrackedNavigation } from './navigation-context.ts';
import { OutageBar } from './outage-bar.tsx';
import { PageSkeleton } from './page-skeleton.tsx';
import { Palette } from './palette.tsx';
import { PersonMenu } from './person-menu.tsx';
import { usePrintInLight } from './print-in-light.ts';
import classes from './shell.module.css';
import { SuspendedNotice } from './suspended-notice.tsx';

const BAND = 26;
const BAR = 56;

/** Layout of all pages for signed-in users. */
export function Shell() {
  const where = useTrackedNavigation();
  const { pathname } = useLocation();
  const [isOpen, { toggle, close }] = useDisclosure();
  const main = useFocusOnNewPage(pathname, close);
  usePrintInLight();
  return (
    <NavigationContext value={where}>
      <SkipLink />
      <AppShell
        header={{ height: BAND + BAR }}
        navbar={{ width: 244, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
        padding={0}
        transitionDuration={0}
      >
        <AppShell.Header withBorder={false}>
          <EnvironmentBand height={BAND} />
          <Bar isOpen={isOpen} onToggle={toggle} />
        </AppShell.Header>
        <AppShell.Navbar component="div" className={classes['navbar'] ?? ''}>
          <AccountSwitch />
          <Navigation />
        </AppShell.Navbar>
        <AppShell.Main id="content" ref={main} tabIndex={-1} className={classes['main'] ?? ''}>
          <div className={classes['page']}>
            <OutageBar />
            <Group justify="space-between" align="flex-start" gap="xs" className={classes['top'] ?? ''}>
              <Breadcrumbs />
              <HelpLinks />
            </Group>
            <SuspendedNotice />
            {/* An error affects its page only. */}
            <ErrorBoundary key={pathname}>
              <Suspense fallback={<PageSkeleton />}>
                <Outlet />
              </Suspense>
            </ErrorBoundary>
          </div>
        </AppShell.Main>
      </AppShell>
    </NavigationContext>
  );
}

function Bar({ isOpen, onToggle }: { readonly isOpen: boolean; readonly onToggle: () => void }) {
  const { t } = useTranslation();
  return (
    <Group h={BAR} px={{ base: 'sm', sm: 'md' }} justify="space-between" wrap="nowrap" className={classes['bar'] ?? ''}>
      <Group gap="sm" wrap="nowrap">
        <Burger
          hiddenFrom="sm"
          size="sm"
          opened={isOpen}
          onClick={onToggle}
          aria-expanded={isOpen}
          aria-label={isOpen ? t('closeNavigation') : t('openNavigation')}
        />
        <Link to="/" className={classes['home']}>
          <Logo isShort />
          <VisuallyHidden>cardvault</VisuallyHidden>
        </Link>
      </Group>
      <Group gap="xs" wrap="nowrap">
        <Palette />
        <EnvironmentSwitch />
        <AlertBell />
        <PersonMenu />
      </Group>
    </Group>
  );
}

function SkipLink() {
  const { t } = useTranslation();
  return (
    <a href="#content" className={classes['skip']}>
      {t('skip')}
    </a>
  );
}

/** Scrolls a new page to its top and focuses it for keyboard and screen reader. */
function useFocusOnNewPage(pathname: string, onNewPage: () => void) {
  const main = useRef<HTMLElement>(null);
  const last = useRef(pathname);
  useEffect(() => {
    if (last.current === pathname) return;
    last.current = pathname;
    window.scrollTo(0, 0);
    main.current?.focus({ preventScroll: true });
    onNewPage();
  }, [pathname, onNewPage]);
  return main;
}
