import { ChevronRight } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { shortened } from '../parts/short-id.tsx';
import classes from './crumbs.module.css';
import { homeOf } from './start.tsx';
import { useWhere, type Where } from './where.ts';

interface Crumb {
  readonly text: string;
  /** In full, when the text is not. */
  readonly title?: string;
  readonly to?: string;
  readonly isRecord?: boolean;
}

function useCrumbs(): readonly Crumb[] {
  const { t } = useTranslation();
  const { area, membership, environment, place, record }: Where = useWhere();
  if (area === 'person' || place === undefined) return [];
  const isOperator = area === 'operator';
  const base = isOperator ? '/operator' : `/a/${membership?.account ?? ''}${environment ? `/${environment}` : ''}`;
  const home = isOperator ? '/operator/accounts' : membership && homeOf(membership);
  return [
    { text: isOperator ? t('operator') : (membership?.name ?? ''), ...(home !== undefined && { to: home }) },
    ...(environment === undefined ? [] : [{ text: t(environment) }]),
    { text: t(place.name), ...(record !== undefined && { to: `${base}/${place.path}` }) },
    ...(record === undefined ? [] : [{ text: shortened(record), title: record, isRecord: true }]),
  ];
}

/** The way to the page. */
export function Crumbs() {
  const { t } = useTranslation();
  const crumbs = useCrumbs();
  if (crumbs.length === 0) return null;
  return (
    <nav aria-label={t('breadcrumbs')} className={classes['crumbs']}>
      <ol>
        {crumbs.map(({ text, title = text, to, isRecord }, index) => (
          <li key={text} data-record={isRecord}>
            {index > 0 && <ChevronRight size={13} aria-hidden />}
            {to === undefined ? (
              <span {...(index === crumbs.length - 1 && { 'aria-current': 'page' as const })} title={title}>
                {text}
              </span>
            ) : (
              <Link to={to}>{text}</Link>
            )}
          </li>
        ))}
      </ol>
    </nav>
  );
}
