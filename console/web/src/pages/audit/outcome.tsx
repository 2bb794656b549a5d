import { useTranslation } from 'react-i18next';
import { Badge } from '../../parts/status-badge.tsx';
import { audit as texts } from '../../text/en/audit.ts';
import { type AuditRecord, isOperationStart } from './action-text.ts';
import classes from './audit.module.css';
import { RawText } from './raw.tsx';

type KnownOutcome = keyof typeof texts.outcomes;

/** Outcomes that have a text. */
export const OUTCOMES = Object.keys(texts.outcomes) as readonly KnownOutcome[];

const SUCCESSFUL: ReadonlySet<string> = new Set(['success', 'accepted', 'confirmed'] satisfies KnownOutcome[]);

const isKnown = (outcome: string): outcome is KnownOutcome => Object.hasOwn(texts.outcomes, outcome);

/** Shows the outcome; error codes keep their own name. */
export function Outcome({ record }: { readonly record: AuditRecord }) {
  const { t } = useTranslation('audit');
  const { outcome } = record;
  if (isOperationStart(record))
    return (
      <Badge tone="quiet" title={t('startedHint')}>
        {t('startedOutcome')}
      </Badge>
    );
  return (
    <span className={classes['outcome']}>
      <Badge tone={SUCCESSFUL.has(outcome) ? 'quiet' : 'attention'} title={outcome}>
        {isKnown(outcome) ? t(`outcomes.${outcome}`) : <RawText>{outcome}</RawText>}
      </Badge>
    </span>
  );
}
