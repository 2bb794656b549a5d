import { Button, Checkbox, Group, Paper, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { LIMITS } from '../../../../../src/kernel/limits.ts';
import { OPERATION_KINDS } from '../../../../wire/payments.ts';
import type { Column } from '../../parts/data-table.tsx';
import { useDialog } from '../../parts/form-dialog.tsx';
import classes from './batch.module.css';
import { BatchDialog } from './batch-dialog.tsx';
import type { BatchKind } from './run-batch.ts';

interface Selectable {
  readonly id: string;
}

/** Rows of a list that the user has selected, in the order of their selection. */
export interface Selection {
  readonly ids: readonly string[];
  readonly isFull: boolean;
  toggle(id: string): void;
  /** Selects as many of these as possible, or none when all of them are selected. */
  toggleAll(ids: readonly string[]): void;
  clear(): void;
}

/** A selection ends with the `scope` for which it was made. */
export function useSelection(scope: string): Selection {
  const [state, setState] = useState<{ readonly scope: string; readonly ids: readonly string[] }>({ scope, ids: [] });
  const ids = state.scope === scope ? state.ids : [];
  const set = (next: readonly string[]): void => setState({ scope, ids: next.slice(0, LIMITS.paymentsPerBatch) });
  return {
    ids,
    isFull: ids.length >= LIMITS.paymentsPerBatch,
    toggle: (id) => set(ids.includes(id) ? ids.filter((each) => each !== id) : [...ids, id]),
    toggleAll: (all) => set(all.every((id) => ids.includes(id)) ? [] : [...new Set([...ids, ...all])]),
    clear: () => set([]),
  };
}

/** Returns the column with the checkbox of each row. */
export function useSelectionColumn<Row extends Selectable>(
  selection: Selection,
  rows: readonly Row[] | undefined,
): Column<Row> {
  const { t } = useTranslation('lists');
  const { ids, isFull } = selection;
  const listed = (rows ?? []).map(({ id }) => id).slice(0, LIMITS.paymentsPerBatch);
  const isAll = listed.length > 0 && listed.every((id) => ids.includes(id));
  return {
    name: 'selection',
    header: (
      <Checkbox
        size="xs"
        aria-label={t('batch.selectAll')}
        checked={isAll}
        indeterminate={!isAll && ids.length > 0}
        onChange={() => selection.toggleAll(listed)}
      />
    ),
    isControl: true,
    width: 44,
    cell: ({ id }) => (
      <Checkbox
        size="xs"
        aria-label={t('batch.select', { name: id })}
        checked={ids.includes(id)}
        disabled={isFull && !ids.includes(id)}
        onChange={() => selection.toggle(id)}
      />
    ),
  };
}

/** Operations on the selected payments, which stay in sight below the list. */
export function BatchBar({ selection }: { readonly selection: Selection }) {
  const { t } = useTranslation('lists');
  const dialog = useDialog<{ readonly kind: BatchKind; readonly ids: readonly string[] }>();
  const { ids, isFull } = selection;
  return (
    <>
      {ids.length > 0 && (
        <Paper withBorder p="sm" mt="sm" className={classes['bar'] ?? ''} role="group" aria-label={t('batch.column')}>
          <Group gap="sm">
            <Text size="sm" fw={600} role="status">
              {t('batch.selected', { count: ids.length })}
              {isFull && ` ${t('batch.limit', { max: LIMITS.paymentsPerBatch })}`}
            </Text>
            {OPERATION_KINDS.map((kind) => (
              <Button
                key={kind}
                size="xs"
                variant={kind === 'capture' ? 'filled' : 'default'}
                onClick={() => dialog.open({ kind, ids })}
              >
                {t(`batch.${kind}.action`)}
              </Button>
            ))}
            <Button size="xs" variant="subtle" color="gray" onClick={selection.clear}>
              {t('batch.clear')}
            </Button>
          </Group>
        </Paper>
      )}
      {dialog.subject !== undefined && (
        <BatchDialog
          {...dialog.subject}
          opened={dialog.opened}
          onClose={(hasRun) => {
            dialog.close();
            if (hasRun) selection.clear();
          }}
        />
      )}
    </>
  );
}
