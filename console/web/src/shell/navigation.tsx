import { ScrollArea } from '@mantine/core';
import { useId } from 'react';
import { useTranslation } from 'react-i18next';
import { NavLink } from 'react-router';
import type { Environment } from '../../../../src/kernel/environment.ts';
import { useSession } from '../session/session.tsx';
import type { Membership } from '../session/tenant.ts';
import { ACCOUNT_ITEMS, ENVIRONMENT_ITEMS, type NavItem, OPERATOR_ITEMS } from './nav-items.ts';
import classes from './navigation.module.css';
import { listVisibleItems, useNavigation } from './navigation-context.ts';
import { PendingCount } from './pending-count.tsx';

/** Navigation on the left. */
export function Navigation() {
  const { t } = useTranslation();
  const { area, membership } = useNavigation();
  const { is_operator } = useSession();
  const isOperator = is_operator && (area === 'operator' || membership === undefined);
  return (
    <ScrollArea flex={1} type="auto" viewportProps={{ tabIndex: -1 }}>
      <nav aria-label={t('main')} className={classes['nav']}>
        {isOperator && <NavSection title={t('operator')} items={OPERATOR_ITEMS} base="/operator" />}
        {!isOperator && membership !== undefined && <AccountItems membership={membership} />}
      </nav>
    </ScrollArea>
  );
}

function AccountItems({ membership }: { readonly membership: Membership }) {
  const { t } = useTranslation();
  const { lastEnvironment } = useNavigation();
  const base = `/a/${membership.account}`;
  return (
    <>
      <NavSection
        title={t(lastEnvironment)}
        environment={lastEnvironment}
        items={listVisibleItems(ENVIRONMENT_ITEMS, membership, lastEnvironment).filter(({ isUnlisted }) => !isUnlisted)}
        base={`${base}/${lastEnvironment}`}
      />
      <NavSection title={t('accountPages')} items={listVisibleItems(ACCOUNT_ITEMS, membership)} base={base} />
    </>
  );
}

interface NavSectionProps {
  readonly title: string;
  /** Environment of the items, which sets their color. */
  readonly environment?: Environment;
  readonly items: readonly NavItem[];
  readonly base: string;
}

function NavSection({ title, environment, items, base }: NavSectionProps) {
  const { t } = useTranslation();
  const id = useId();
  if (items.length === 0) return null;
  return (
    <>
      <p id={id} className={classes['group']} data-environment={environment}>
        {title}
      </p>
      <ul aria-labelledby={id} className={classes['list']}>
        {items.map(({ name, path, icon: Icon, pending }) => (
          <li key={path} className={classes['item']}>
            <NavLink
              to={`${base}/${path}`}
              className={classes['link'] ?? ''}
              {...(pending !== undefined && { 'aria-describedby': `${id}-${path}` })}
            >
              <Icon size={17} strokeWidth={1.75} aria-hidden />
              {t(name)}
            </NavLink>
            {pending !== undefined && <PendingCount kind={pending} id={`${id}-${path}`} />}
          </li>
        ))}
      </ul>
    </>
  );
}
