import { Group, UnstyledButton } from '@mantine/core';
import { ChevronDown, ChevronRight } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import type { Column } from './data-table.tsx';
import classes from './row-opener.module.css';
import { Time } from './time.tsx';

interface RowDetailsOptions<Row> {
  readonly keyOf: (row: Row) => string;
  /** Header of the column of times. */
  readonly header: string;
  /** Returns the name of the button that opens a row. */
  readonly labelOf: (row: Row) => string;
  readonly render: (row: Row) => ReactNode;
}

interface RowDetails<Row> {
  readonly opener: Column<Row>;
  /** Property of `DataTable`. */
  readonly renderDetail: (row: Row) => ReactNode;
}

/** Returns the column that shows the time of a row and opens its details, and the details of the rows that are open. */
export function useRowDetails<Row extends { readonly at: string }>({
  keyOf,
  header,
  labelOf,
  render,
}: RowDetailsOptions<Row>): RowDetails<Row> {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const isOpen = (row: Row): boolean => open.has(keyOf(row));
  const toggle = (row: Row): void =>
    setOpen((before) => {
      const after = new Set(before);
      if (!after.delete(keyOf(row))) after.add(keyOf(row));
      return after;
    });
  const opener: Column<Row> = {
    name: 'at',
    header,
    cell: (row) => <RowOpener at={row.at} label={labelOf(row)} isOpen={isOpen(row)} onClick={() => toggle(row)} />,
  };
  const renderDetail = (row: Row): ReactNode => isOpen(row) && <div className={classes['detail']}>{render(row)}</div>;
  return { opener, renderDetail };
}

interface RowOpenerProps {
  readonly at: string;
  readonly label: string;
  readonly isOpen: boolean;
  readonly onClick: () => void;
}

function RowOpener({ at, label, isOpen, onClick }: RowOpenerProps) {
  const Chevron = isOpen ? ChevronDown : ChevronRight;
  return (
    <Group gap={4} wrap="nowrap">
      <UnstyledButton className={classes['opener'] ?? ''} aria-expanded={isOpen} aria-label={label} onClick={onClick}>
        <Chevron size={16} aria-hidden />
      </UnstyledButton>
      <Time value={at} hasSeconds />
    </Group>
  );
}
