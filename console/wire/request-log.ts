import { STATUS_CLASSES } from '../../src/accounts/request-log-terms.ts';
import { anyString, object, oneOf, optional, output, plainText } from '../../src/http/fields.ts';
import { ENVIRONMENTS } from '../../src/kernel/environment.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { define, orNull, sortOrder } from './definition.ts';

/** The requests that clients made to the API. */

const filterText = (what: string) => optional(plainText(LIMITS.searchCharacters, what));

const filter = {
  key: filterText('Id of an API key'),
  route: filterText('Path pattern'),
  status: optional(oneOf(STATUS_CLASSES, 'Statuses')),
  error: filterText('Code of an error'),
  request_id: filterText('x-request-id of the response'),
  address: filterText('Address or CIDR network of the client'),
  from: filterText('ISO 8601, from then on'),
  to: filterText('ISO 8601, before'),
  order: sortOrder,
  cursor: optional(anyString('Cursor of the previous page')),
};

const page = object({
  requests: output.list(
    object({
      id: output.text('Unique id of the line'),
      at: output.time('Time of the response'),
      account: output.nullableText('Id of the account; null when it is unknown'),
      environment: output.text('Environment'),
      method: output.text('Method'),
      route: output.text('Path pattern; (none) for a path that does not exist'),
      status: output.integer('HTTP status'),
      duration_us: output.integer('Microseconds'),
      error: output.nullableText('Code of the error; null for a success and for a repeated response'),
      reason: output.nullableText('Reason of the error, without its values'),
      field: output.nullableText('Field of the request that the error names'),
      request_id: output.text('x-request-id of the response'),
      api_key: orNull(
        object({
          id: output.text('Id of the API key'),
          name: output.nullableText('Its name; null when there is no such key'),
        }),
      ),
      address: output.text('Address of the client'),
      repeats: output.integer('Further requests like this one in the same second, which have no line'),
    }),
    'In the requested order',
  ),
  next: output.nullableText('Cursor of the next page; null at the end'),
  searched_back_to: output.nullableTime('Time up to which the search has read in its order; null at the end'),
  routes: output.texts('Path patterns to filter by'),
});

/** A search text may be a card number by mistake, so it is sent in the body and not in the URL. */
export const listRequests = define({
  method: 'POST',
  path: '/api/accounts/:account/:environment/requests/search',
  access: 'requests:read',
  allowedWhileSuspended: true,
  body: object(filter),
  data: page,
});

/** Requests of all accounts, and those of unknown ones. */
export const listAllRequests = define({
  method: 'POST',
  path: '/api/operator/request-log/search',
  access: 'operate',
  body: object({
    ...filter,
    account: filterText('Id of an account; none for requests of an unknown account; absent: all of them'),
    environment: optional(oneOf(ENVIRONMENTS, 'Environment')),
  }),
  data: page,
});
