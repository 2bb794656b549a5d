import { Button, Group } from '@mantine/core';
import { X } from 'lucide-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';

import classes from './filter-bar.module.css';

interface FilterBarProps {
  /** Fields with labels. */
  readonly children: ReactNode;
  /** By Enter, or by the button. Absent: the fields work at once. */
  readonly onApply?: () => void;
  readonly isFiltered: boolean;
  readonly onClear: () => void;
}

/** Above a table: what of it is shown. */
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
