import { ScrollArea } from '@mantine/core';
import { useId } from 'react';
import { useTranslation } from 'react-i18next';
import { NavLink } from 'react-router';
import { useSession } from '../session/session.tsx';
import type { Membership } from '../session/tenant.ts';
import classes from './navigation.module.css';
import { ACCOUNT_PLACES, ENVIRONMENT_PLACES, OPERATOR_PLACES, type Place } from './places.ts';
import { placesOf, useWhere } from './where.ts';

/** The pages, on the left. */
export function Navigation() {
  const { t } = useTranslation();
  const { area, membership } = useWhere();
  const { is_operator } = useSession();
  const isOperator = is_operator && (area === 'operator' || membership === undefined);
  return (
    <ScrollArea flex={1} type="auto" viewportProps={{ tabIndex: -1 }}>
      <nav aria-label={t('main')} className={classes['nav']}>
        {isOperator && <Places title={t('operator')} places={OPERATOR_PLACES} base="/operator" />}
        {!isOperator && membership !== undefined && <OfAccount membership={membership} />}
      </nav>
    </ScrollArea>
  );
}

function OfAccount({ membership }: { readonly membership: Membership }) {
  const { t } = useTranslation();
  const { lastEnvironment } = useWhere();
  const base = `/a/${membership.account}`;
  return (
    <>
      <Places
        title={t(lastEnvironment)}
        places={placesOf(ENVIRONMENT_PLACES, membership, lastEnvironment)}
        base={`${base}/${lastEnvironment}`}
      />
      <Places title={t('accountPages')} places={placesOf(ACCOUNT_PLACES, membership)} base={base} />
    </>
  );
}

interface PlacesProps {
  readonly title: string;
  readonly places: readonly Place[];
  readonly base: string;
}

function Places({ title, places, base }: PlacesProps) {
  const { t } = useTranslation();
  const id = useId();
  if (places.length === 0) return null;
  return (
    <>
      <p id={id} className={classes['group']}>
        {title}
      </p>
      <ul aria-labelledby={id} className={classes['list']}>
        {places.map(({ name, path, icon: Icon }) => (
          <li key={path}>
            <NavLink to={`${base}/${path}`} className={classes['link'] ?? ''}>
              <Icon size={17} strokeWidth={1.75} aria-hidden />
              {t(name)}
            </NavLink>
          </li>
        ))}
      </ul>
    </>
  );
}
