import { Box, Button, Center, Skeleton, Table, UnstyledButton, VisuallyHidden } from '@mantine/core';
import { ArrowDown, ArrowUp, ChevronRight } from 'lucide-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { SortOrder } from '../../../../src/storage/sort-order.ts';
import type { CallError } from '../api/call.ts';
import type { LiveList } from '../api/pages.ts';
import classes from './data-table.module.css';
import { ErrorAlert } from './error-alert.tsx';
import { NewRows, useHeldRows } from './held-rows.tsx';
import { useScrollable } from './scrollable.ts';

export interface Column<Row> {
  /** Unique name of the column. */
  readonly name: string;
  readonly header: ReactNode;
  readonly cell: (row: Row) => ReactNode;
  /** Aligns numbers and amounts to the right. */
  readonly isNumber?: boolean;
  /** Width from which on the column is visible; on a telephone rows are cards that show all columns. */
  readonly visibleFrom?: 'sm' | 'md' | 'lg';
  readonly width?: number | string;
  /** The cells are controls, such as checkboxes; the row is named by the next column. */
  readonly isControl?: boolean;
  /** Shows the header to screen readers only, for example above buttons. */
  readonly isHeaderHidden?: boolean;
}

interface ListSort {
  /** Name of the column. */
  readonly column: string;
  readonly order: SortOrder;
  readonly toggle: () => void;
}

export interface DataTableProps<Row> {
  /** Description of the table for screen readers. */
  readonly caption: string;
  /** Columns; the first one without controls names the row. */
  readonly columns: readonly Column<Row>[];
  /** Undefined while they load. */
  readonly rows: readonly Row[] | undefined;
  readonly rowKey: (row: Row) => string;
  /** Shown instead of the table when there are no rows. */
  readonly empty: ReactNode;
  readonly error?: CallError | null;
  readonly onRetry?: () => void;
  /** Address of the row's page, to which the whole row links. */
  readonly to?: (row: Row) => string;
  /** Content below a row, such as its details. */
  readonly renderDetail?: (row: Row) => ReactNode;
  /** Present when more rows can be loaded. */
  readonly next?: { readonly onClick: () => void; readonly isLoading?: boolean; readonly label?: string } | undefined;
  readonly skeletonRows?: number;
  /** Present when the service can sort the list by the time in one of its columns. */
  readonly sort?: ListSort;
  /** Present for a list that is polled: rows that would move others wait. */
  readonly live?: LiveList;
}

/** Table in all states: loading, failed, empty, filled, more to load. */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { caption, columns, rowKey, empty, error, onRetry, next, live } = props;
  const { ref, isScrollable } = useScrollable();
  const { frame, rows, news } = useHeldRows(props.rows, { live, key: rowKey });
  if (error && rows === undefined) return <ErrorAlert error={error} {...(onRetry && { onRetry })} />;
  if (rows !== undefined && rows.length === 0 && next === undefined) return empty;
  const table = (
    <Box className={classes['frame'] ?? ''} ref={frame} {...(live && { tabIndex: -1 })}>
      {error && <ErrorAlert error={error} {...(onRetry && { onRetry })} />}
      {/* The keyboard has to scroll it. */}
      <div
        ref={ref}
        className={classes['scroll']}
        {...(isScrollable && { tabIndex: 0, role: 'group', 'aria-label': caption })}
      >
        <Table verticalSpacing={10} horizontalSpacing="md" aria-busy={rows === undefined}>
          <caption>
            <VisuallyHidden>{caption}</VisuallyHidden>
          </caption>
          <Head {...props} />
          <Table.Tbody>
            {rows === undefined ? (
              <Skeletons columns={columns} count={props.skeletonRows ?? 5} />
            ) : (
              rows.map((row) => <Row key={rowKey(row)} {...props} row={row} />)
            )}
          </Table.Tbody>
        </Table>
      </div>
      {next !== undefined && <LoadMore {...next} />}
    </Box>
  );
  if (live === undefined) return table;
  return (
    <>
      <NewRows {...news} />
      {table}
    </>
  );
}

const cellAttributes = <Row,>({ isNumber, visibleFrom, header, isHeaderHidden }: Column<Row>) => ({
  ...(isNumber && { 'data-number': true }),
  ...(visibleFrom !== undefined && { 'data-from': visibleFrom }),
  ...(isHeaderHidden && { 'data-bare': true }),
  // Shown in each card, which has no header above it.
  ...(typeof header === 'string' && { 'data-label': header }),
});

const Head = <Row,>({ columns, to, sort }: DataTableProps<Row>) => (
  <Table.Thead>
    <Table.Tr>
      {columns.map((column) => (
        <Table.Th
          key={column.name}
          {...cellAttributes(column)}
          w={column.width}
          scope="col"
          {...(column.name === sort?.column && {
            'data-sortable': true,
            'aria-sort': sort.order === 'oldest' ? 'ascending' : 'descending',
          })}
        >
          {column.name === sort?.column ? (
            <SortButton {...sort}>{column.header}</SortButton>
          ) : column.isHeaderHidden ? (
            <VisuallyHidden>{column.header}</VisuallyHidden>
          ) : (
            column.header
          )}
        </Table.Th>
      ))}
      {to !== undefined && <Table.Td aria-hidden className={classes['onward'] ?? ''} />}
    </Table.Tr>
  </Table.Thead>
);

/** Header of the column by which the list is sorted; reverses the order. */
function SortButton({ order, toggle, children }: ListSort & { readonly children: ReactNode }) {
  const { t } = useTranslation('parts');
  const Arrow = order === 'oldest' ? ArrowUp : ArrowDown;
  return (
    <UnstyledButton className={classes['sort'] ?? ''} onClick={toggle} title={t(`sortedBy.${order}`)}>
      {children}
      <Arrow size={14} aria-hidden />
    </UnstyledButton>
  );
}

function Row<Row>({ row, columns, to, renderDetail }: DataTableProps<Row> & { readonly row: Row }) {
  const detail = renderDetail?.(row);
  const naming = columns.findIndex(({ isControl }) => isControl !== true);
  return (
    <>
      <Table.Tr className={(to && classes['linked']) ?? ''}>
        {columns.map((column, index) => (
          <Table.Td key={column.name} {...cellAttributes(column)}>
            {index === naming && to !== undefined ? (
              <Link to={to(row)} className={classes['link']}>
                {column.cell(row)}
              </Link>
            ) : (
              column.cell(row)
            )}
          </Table.Td>
        ))}
        {to !== undefined && (
          <Table.Td aria-hidden className={classes['onward'] ?? ''}>
            <ChevronRight size={16} />
          </Table.Td>
        )}
      </Table.Tr>
      {detail !== undefined && detail !== null && detail !== false && (
        <Table.Tr className={classes['below'] ?? ''}>
          <Table.Td colSpan={columns.length}>{detail}</Table.Td>
        </Table.Tr>
      )}
    </>
  );
}

function Skeletons<Row>({ columns, count }: { readonly columns: readonly Column<Row>[]; readonly count: number }) {
  return Array.from({ length: count }, (_, row) => row).map((row) => (
    <Table.Tr key={row}>
      {columns.map((column, index) => (
        <Table.Td key={column.name} {...cellAttributes(column)}>
          <Skeleton height={14} my={3} width={`${[70, 55, 80, 45, 60][(row + index) % 5]}%`} />
        </Table.Td>
      ))}
    </Table.Tr>
  ));
}

function LoadMore({ onClick, isLoading = false, label }: NonNullable<DataTableProps<unknown>['next']>) {
  const { t } = useTranslation('parts');
  return (
    <Center p="sm">
      <Button variant="default" size="sm" onClick={onClick} loading={isLoading}>
        {label ?? t('more')}
      </Button>
    </Center>
  );
}
