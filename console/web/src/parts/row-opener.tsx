import { Group, UnstyledButton } from '@mantine/core';
import { ChevronDown, ChevronRight } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import classes from './row-opener.module.css';
import { Time } from './time.tsx';

interface OpenRows<Row> {
  readonly isOpen: (row: Row) => boolean;
  readonly toggle: (row: Row) => void;
}

/** Remembers the rows of a table whose details are open. */
export function useOpenRows<Row>(keyOf: (row: Row) => string): OpenRows<Row> {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const toggle = (row: Row): void =>
    setOpen((before) => {
      const after = new Set(before);
      if (!after.delete(keyOf(row))) after.add(keyOf(row));
      return after;
    });
  return { isOpen: (row) => open.has(keyOf(row)), toggle };
}

interface RowOpenerProps {
  readonly at: string;
  readonly label: string;
  readonly isOpen: boolean;
  readonly onClick: () => void;
}

/** Opens the details of a row; shows its time. */
export function RowOpener({ at, label, isOpen, onClick }: RowOpenerProps) {
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

/** The details below a row. */
export const RowDetail = ({ children }: { readonly children: ReactNode }) => (
  <div className={classes['detail']}>{children}</div>
);
