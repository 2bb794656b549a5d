import { useTranslation } from 'react-i18next';
import type { Environment } from '../../../../src/kernel/environment.ts';
import classes from './environment-badge.module.css';

/** Shows the environment in its color. */
export function EnvironmentBadge({ environment }: { readonly environment: Environment }) {
  const { t } = useTranslation('parts');
  return (
    <span className={classes['badge']} data-environment={environment}>
      {t(environment)}
    </span>
  );
}
