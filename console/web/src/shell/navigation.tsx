import { ScrollArea } from '@mantine/core';
import { useId } from 'react';
import { useTranslation } from 'react-i18next';
import { NavLink } from 'react-router';
import type { Environment } from '../../../../src/kernel/environment.ts';
import { useSession } from '../session/session.tsx';
import type { Membership } from '../session/tenant.ts';
import classes from './navigation.module.css';
import { ACCOUNT_PLACES, ENVIRONMENT_PLACES, OPERATOR_PLACES, type Place } from './places.ts';
import { Waiting } from './waiting.tsx';
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
        environment={lastEnvironment}
        places={placesOf(ENVIRONMENT_PLACES, membership, lastEnvironment)}
        base={`${base}/${lastEnvironment}`}
      />
      <Places title={t('accountPages')} places={placesOf(ACCOUNT_PLACES, membership)} base={base} />
    </>
  );
}

interface PlacesProps {
  readonly title: string;
  /** That they belong to, and are tinted as. */
  readonly environment?: Environment;
  readonly places: readonly Place[];
  readonly base: string;
}

function Places({ title, environment, places, base }: PlacesProps) {
  const { t } = useTranslation();
  const id = useId();
  if (places.length === 0) return null;
  return (
    <>
      <p id={id} className={classes['group']} data-environment={environment}>
        {title}
      </p>
      <ul aria-labelledby={id} className={classes['list']}>
        {places.map(({ name, path, icon: Icon, waiting }) => (
          <li key={path} className={classes['item']}>
            <NavLink
              to={`${base}/${path}`}
              className={classes['link'] ?? ''}
              {...(waiting !== undefined && { 'aria-describedby': `${id}-${path}` })}
            >
              <Icon size={17} strokeWidth={1.75} aria-hidden />
              {t(name)}
            </NavLink>
            {waiting !== undefined && <Waiting of={waiting} id={`${id}-${path}`} />}
          </li>
        ))}
      </ul>
    </>
  );
}
