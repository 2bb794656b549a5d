import { useTranslation } from 'react-i18next';
import { Badge } from '../../parts/status-badge.tsx';
import { audit as texts } from '../../text/en/audit.ts';
import { type AuditRecord, isBeginning } from './action-text.ts';
import classes from './audit.module.css';
import { Raw } from './raw.tsx';

type Word = keyof typeof texts.outcomes;

/** All that there are words for. */
export const OUTCOMES = Object.keys(texts.outcomes) as readonly Word[];

const GOOD: readonly string[] = ['success', 'accepted', 'word'];

const isKnown = (outcome: string): outcome is Word => Object.hasOwn(texts.outcomes, outcome);

/** How it went; codes that the log took over from errors keep their own name. */
export function Outcome({ record }: { readonly record: AuditRecord }) {
  const { t } = useTranslation('audit');
  const { outcome } = record;
  if (isBeginning(record))
    return (
      <Badge tone="quiet" title={t('begunHint')}>
        {t('begunOutcome')}
      </Badge>
    );
  return (
    <span className={classes['outcome']}>
      <Badge tone={GOOD.includes(outcome) ? 'quiet' : 'attention'} title={outcome}>
        {isKnown(outcome) ? t(`outcomes.${outcome}`) : <Raw>{outcome}</Raw>}
      </Badge>
    </span>
  );
}
