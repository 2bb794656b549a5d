import type { Capability } from '../../../people/roles.ts';
import type { ViewedList } from '../../../people/viewed-lists.ts';
import { useCan } from '../session/tenant.ts';
import { ExportButton, type ExportButtonProps } from './export-button.tsx';
import { SavedViews } from './saved-views.tsx';

interface ListActionsProps<Filter> extends Omit<ExportButtonProps<Filter>, 'isFiltered'> {
  readonly list: ViewedList;
  readonly filters: {
    readonly values: Readonly<Record<string, string>>;
    readonly isFiltered: boolean;
    readonly applyView: (values: Readonly<Record<string, string>>) => void;
  };
}

/** Saved views of a list of an account, and its export for users who may export it. */
export function ListActions<Filter>({ list, filters, ...exported }: ListActionsProps<Filter>) {
  const may = useCan();
  return (
    <>
      <SavedViews list={list} values={filters.values} onApply={filters.applyView} />
      {may(exported.definition.access as Capability) && <ExportButton {...exported} isFiltered={filters.isFiltered} />}
    </>
  );
}
