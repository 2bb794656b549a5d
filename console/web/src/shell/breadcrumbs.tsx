import { ChevronRight } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { shortenId } from '../parts/short-id.tsx';
import classes from './breadcrumbs.module.css';
import { type NavigationState, useNavigation } from './navigation-context.ts';
import { getHomePath } from './start.tsx';

interface Breadcrumb {
  readonly text: string;
  /** Full text when `text` is shortened. */
  readonly title?: string;
  readonly to?: string;
  readonly isRecord?: boolean;
}

function useBreadcrumbs(): readonly Breadcrumb[] {
  const { t } = useTranslation();
  const { area, membership, environment, item, recordId }: NavigationState = useNavigation();
  if (area === 'person' || item === undefined) return [];
  const isOperator = area === 'operator';
  const base = isOperator ? '/operator' : `/a/${membership?.account ?? ''}${environment ? `/${environment}` : ''}`;
  const home = isOperator ? '/operator/accounts' : membership && getHomePath(membership);
  return [
    { text: isOperator ? t('operator') : (membership?.name ?? ''), ...(home !== undefined && { to: home }) },
    ...(environment === undefined ? [] : [{ text: t(environment) }]),
    { text: t(item.name), ...(recordId !== undefined && { to: `${base}/${item.path}` }) },
    ...(recordId === undefined ? [] : [{ text: shortenId(recordId), title: recordId, isRecord: true }]),
  ];
}

/** Shows the path to the page. */
export function Breadcrumbs() {
  const { t } = useTranslation();
  const breadcrumbs = useBreadcrumbs();
  if (breadcrumbs.length === 0) return null;
  return (
    <nav aria-label={t('breadcrumbs')} className={classes['crumbs']}>
      <ol>
        {breadcrumbs.map(({ text, title = text, to, isRecord }, index) => (
          <li key={text} data-record={isRecord}>
            {index > 0 && <ChevronRight size={13} aria-hidden />}
            {to === undefined ? (
              <span {...(index === breadcrumbs.length - 1 && { 'aria-current': 'page' as const })} title={title}>
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
