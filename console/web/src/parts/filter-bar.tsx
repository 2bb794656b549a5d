import { Button, Group } from '@mantine/core';
import { X } from 'lucide-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';

import classes from './filter-bar.module.css';

interface FilterBarProps {
  /** Labeled fields. */
  readonly children: ReactNode;
  /** Called for Enter or the button; absent when the fields apply immediately. */
  readonly onApply?: () => void;
  readonly isFiltered: boolean;
  readonly onClear: () => void;
}

/** Filters above a table. */
export function FilterBar({ children, onApply, isFiltered, onClear }: FilterBarProps) {
  const { t } = useTranslation('parts');
  return (
    <search>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onApply?.();
        }}
      >
        <Group gap="sm" align="flex-start" mb="md" className={classes['bar'] ?? ''}>
          {children}
          {onApply !== undefined && <Button type="submit">{t('apply')}</Button>}
          {isFiltered && (
            <Button variant="subtle" color="gray" leftSection={<X size={14} aria-hidden />} onClick={onClear}>
              {t('clearFilters')}
            </Button>
          )}
        </Group>
      </form>
    </search>
  );
}
