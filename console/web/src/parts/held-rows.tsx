import { Button } from '@mantine/core';
import { ArrowUp } from 'lucide-react';
import { useLayoutEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { holdRows } from '../api/live-rows.ts';
import type { LiveList } from '../api/pages.ts';
import classes from './held-rows.module.css';

interface ShownRows<Row> {
  readonly version: string | undefined;
  readonly rows: readonly Row[] | undefined;
}

/**
 * Returns the rows to show of a list that is polled. Rows that would move others wait while the user is busy with the
 * list: it is scrolled, a row has the focus or is open, or the list is not at its newest page. Without `live`, nothing
 * waits.
 */
export function useHeldRows<Row>(
  rows: readonly Row[] | undefined,
  { live, key }: { readonly live: LiveList | undefined; readonly key: (row: Row) => string },
) {
  const frame = useRef<HTMLDivElement>(null);
  const version = live?.version;
  const [shown, setShown] = useState<ShownRows<Row>>({ version, rows });
  const isHeld = live !== undefined && rows !== undefined && shown.rows !== undefined && shown.version === version;
  const held = isHeld ? holdRows(shown.rows, rows, key) : { rows, waiting: 0 };
  // Before the browser paints, so that rows that need not wait are never announced.
  useLayoutEffect(() => {
    if (shown.rows === rows && shown.version === version) return;
    if (held.waiting === 0 || !(live?.isDeep || isBusyWith(frame.current))) setShown({ version, rows });
  });
  const show = (): void => {
    setShown({ version, rows });
    window.scrollTo({ top: 0 });
    frame.current?.focus({ preventScroll: true });
  };
  return { frame, rows: held.rows, news: { count: held.waiting, onShow: show } };
}

const OPEN_OR_FOCUSED = 'tbody :focus, tbody [aria-expanded="true"], article:focus-within';

const isBusyWith = (frame: HTMLElement | null): boolean =>
  frame !== null && (window.scrollY > 0 || frame.querySelector(OPEN_OR_FOCUSED) !== null);

interface NewRowsProps {
  readonly count: number;
  readonly onShow: () => void;
}

/** Announces rows that wait, over the list, so that it does not move. */
export function NewRows({ count, onShow }: NewRowsProps) {
  const { t } = useTranslation('parts');
  return (
    <div role="status" className={classes['news']}>
      {count > 0 && (
        <Button size="compact-sm" radius="xl" leftSection={<ArrowUp size={14} aria-hidden />} onClick={onShow}>
          {t('newRows', { count })}
        </Button>
      )}
    </div>
  );
}
