import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { ENVIRONMENTS, type Environment } from '../../../../src/kernel/environment.ts';
import classes from './environment-switch.module.css';
import { ENVIRONMENT_ITEMS } from './nav-items.ts';
import { listVisibleItems, useNavigation } from './navigation-context.ts';

/** Switches between sandbox and production: to the same page, or its list. */
export function EnvironmentSwitch() {
  const { t } = useTranslation();
  const { area, membership, environment, lastEnvironment, item } = useNavigation();
  if (area !== 'account' || membership === undefined) return null;
  const pathIn = (target: Environment): string => {
    const items = listVisibleItems(ENVIRONMENT_ITEMS, membership, target);
    const same = environment !== undefined && items.includes(item as never) ? item : items[0];
    return `/a/${membership.account}/${target}/${same?.path ?? 'overview'}`;
  };
  return (
    <nav className={classes['switch']} aria-label={t('environment')}>
      {ENVIRONMENTS.toReversed().map((each) => (
        <Link
          key={each}
          to={pathIn(each)}
          data-environment={each}
          // On pages without an environment, the sidebar's environment is highlighted.
          data-lit={each === lastEnvironment}
          className={classes['side']}
          {...(each === environment && { 'aria-current': 'true' as const })}
        >
          {t(each)}
        </Link>
      ))}
    </nav>
  );
}
