import { Button } from '@mantine/core';
import { type LucideIcon, SearchX } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { useCan, useTenant } from '../session/tenant.ts';
import { EmptyState } from './empty-state.tsx';

interface NoRecordsProps {
  readonly icon: LucideIcon;
  readonly texts: Readonly<Record<'title' | 'text' | 'action', string>>;
}

/**
 * Shown instead of an empty list; links to the command that creates a record. The commands are for the sandbox, so in
 * production it links to the keys.
 */
export function NoRecords({ icon, texts }: NoRecordsProps) {
  const { t } = useTranslation('parts');
  const { account, environment } = useTenant();
  const isSandbox = environment === 'sandbox';
  const maySeeKeys = useCan()('keys:read');
  return (
    <EmptyState
      icon={icon}
      title={texts.title}
      action={
        isSandbox ? (
          <Button component={Link} to={`/a/${account}/onboarding#commands`}>
            {texts.action}
          </Button>
        ) : (
          maySeeKeys && (
            <Button component={Link} to={`/a/${account}/${environment}/keys`}>
              {t('productionKeys')}
            </Button>
          )
        )
      }
    >
      {texts.text}
    </EmptyState>
  );
}

interface NoMatchesProps {
  readonly title: string;
  readonly text: string;
  /** Text of the button that clears the filters; absent: says so. */
  readonly clearLabel?: string;
  readonly onClear: () => void;
}

/** Shown when no record matches the filters. */
export function NoMatches({ title, text, clearLabel, onClear }: NoMatchesProps) {
  const { t } = useTranslation('parts');
  return (
    <EmptyState
      icon={SearchX}
      title={title}
      action={
        <Button variant="default" onClick={onClear}>
          {clearLabel ?? t('clearFilters')}
        </Button>
      }
    >
      {text}
    </EmptyState>
  );
}
