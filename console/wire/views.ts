import { list, object, oneOf, output, plainText } from '../../src/http/fields.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { VIEWED_LISTS } from '../people/viewed-lists.ts';
import { define, done } from './definition.ts';

/** Named filters of lists. Each member has views of their own; the path names the account alone, so both environments share them. */

const view = object({
  id: output.text('Id'),
  list: output.oneOf(VIEWED_LISTS, 'List'),
  name: output.text('Name'),
  filters: output.list(object({ name: output.text('Name'), value: output.text('Value') }), 'Filters'),
});

const name = plainText(LIMITS.savedViewNameCharacters, 'Name');
const path = '/api/accounts/:account/views';

export const listViews = define({
  method: 'GET',
  path,
  access: 'overview:read',
  data: object({ views: output.list(view, 'Views of all lists, the oldest first') }),
});

export const saveView = define({
  method: 'POST',
  path,
  access: 'overview:read',
  largeBody: true,
  body: object({
    list: oneOf(VIEWED_LISTS, 'List'),
    name,
    filters: list(
      object({
        name: plainText(LIMITS.viewFilterNameCharacters, 'Name of a filter'),
        value: plainText(LIMITS.tagCharacters, 'Value'),
      }),
      { min: 1, max: LIMITS.filtersPerView },
    ),
  }),
  data: object({ view }),
});

export const renameView = define({
  method: 'POST',
  path: `${path}/:id`,
  access: 'overview:read',
  body: object({ name }),
  data: object({ view }),
});

export const deleteView = define({
  method: 'DELETE',
  path: `${path}/:id`,
  access: 'overview:read',
  data: object({ done }),
});
