import { useTranslation } from 'react-i18next';
import { useLocation } from 'react-router';
import classes from './environment-band.module.css';
import { useNavigation } from './navigation-context.ts';

/** Band at the top that shows whether data is live. */
export function EnvironmentBand({ height }: { readonly height: number }) {
  const { t } = useTranslation();
  const { area, environment, item } = useNavigation();
  const { pathname } = useLocation();
  const kind = environment ?? area;
  const words = {
    production: { name: t('production'), hint: t('bandProduction') },
    sandbox: { name: t('sandbox'), hint: t('bandSandbox') },
    account: { name: t('account'), hint: t('bandAccount') },
    operator: { name: t('operator'), hint: t('bandOperator') },
    person: { name: item ? t(item.name) : pathname.startsWith('/guides/') ? t('guides') : '', hint: '' },
  }[kind];
  return (
    <div className={classes['band']} data-kind={kind} style={{ height }}>
      <strong>{words.name}</strong>
      <span className={classes['hint']}>{words.hint}</span>
    </div>
  );
}
